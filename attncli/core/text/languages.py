"""What students call steps and inputs in other languages than English: one table per language.

Each row has the name of a step or a key, then words for it in lower case and without blanks, also
as they are typed where a keyboard has no letters with marks. Rows in capitals have words around
names: before the number of a heading or a row, over a list of tasks and their points, before and
after a name in a sentence, for matrices, and between two names. Nothing is printed in these
languages.
"""

from __future__ import annotations

TABLES = {
    "German": """
X: eingabe eingaben eingabematrix eingabevektoren
tokens: wörter woerter satz
heads: köpfe koepfe anzahlköpfe anzahlkoepfe
mask: maske
scale: skalierung skalierungsfaktor
Q: abfrage abfragen abfragematrix anfrage anfragen anfragematrix
K: schlüssel schluessel schlüsselmatrix schluesselmatrix schlüsselvektoren schluesselvektoren
V: wert werte wertematrix wertvektoren
scores: ähnlichkeit aehnlichkeit ähnlichkeiten aehnlichkeiten \
    skalarprodukt skalarprodukte
scaled: skaliert skalierte skaliertescores skaliertewerte skalierung
masked: maskiert maskierte maskiertescores maskierung
exp: exponentialfunktion exponentialwerte zähler zaehler
sum: summe summen zeilensumme zeilensummen nenner
weights: gewicht gewichte softmaxgewichte aufmerksamkeit aufmerksamkeitsgewichte attentiongewichte \
    aufmerksamkeitsmatrix wahrscheinlichkeiten
context: kontext kontextvektor kontextvektoren
concat: verkettung verkettet konkatenation
output: ausgabe ausgaben ausgabematrix ergebnis resultat
positions: positionskodierung positionskodierungen positionscodierung
STEP: schritt teil aufgabe
TASK: aufgabe punkte punktzahl
ROW: zeile
BEFORE: berechne berechnung gegeben seien sei wir die der das unsere
AFTER: ist sind lautet lauten berechnen bestimmen
MATRIX: gewichtsmatrix matrizen vektor vektoren projektion
AND: und
""",
    "French": """
X: entrée entree entrées entrees matriced'entrée matriced'entree vecteursd'entrée \
    vecteursd'entree
tokens: mots
heads: têtes tetes nombredetêtes nombredetetes
mask: masque
scale: échelle echelle facteurd'échelle facteurd'echelle
Q: requête requete requêtes requetes
K: clé cle clés cles clef clefs
V: valeur valeurs
scores: similarité similarite similarités similarites similitudes produitsscalaires \
    scoresd'attention
scaled: scoresmisàl'échelle scoresmisal'echelle misàl'échelle misal'echelle miseàl'échelle \
    miseal'echelle
masked: masqué masque masqués masques masquage scoresmasqués scoresmasques
exp: exponentielle exponentielles numérateur numerateur
sum: somme sommes dénominateur denominateur
weights: poids poidsd'attention matriced'attention probabilités probabilites
context: contexte vecteurdecontexte vecteursdecontexte
concat: concaténation concaténé concatene
output: sortie sorties résultat resultat
positions: encodagepositionnel codagepositionnel encodagedeposition
STEP: étape etape partie exercice
TASK: exercice points barème
ROW: ligne
BEFORE: soit soient on avec le la les de d'entrée d'entree
AFTER: est sont
MATRIX: matrice matrices vecteur vecteurs projection
AND: et
""",
    "Spanish": """
X: entrada entradas matrizdeentrada
tokens: palabras
heads: cabezas númerodecabezas numerodecabezas
mask: máscara mascara
scale: escala factordeescala
Q: consulta consultas
K: clave claves llave llaves
V: valor valores
scores: puntuaciones similitud similitudes \
    productosescalares
scaled: escalado escalados escalada escaladas puntuacionesescaladas escalamiento
masked: enmascarado enmascarados enmascaradas puntuacionesenmascaradas
exp: exponencial exponenciales numerador
sum: suma sumas denominador
weights: peso pesos pesosdeatención pesosdeatencion matrizdeatención matrizdeatencion atención \
    atencion probabilidades
context: contexto vectordecontexto vectoresdecontexto
concat: concatenación concatenacion concatenado
output: salida salidas resultado
positions: codificaciónposicional codificacionposicional codificacionesposicionales
STEP: paso parte passo ejercicio pregunta
TASK: ejercicio puntos
ROW: fila
BEFORE: sea sean dado dada dados con el la los las de
AFTER: es son
MATRIX: matriz matrices vector vectores proyección proyeccion
AND: y
""",
    "Chinese": """
X: 输入 输入矩阵 输入向量 輸入
tokens: 词元 单词 词
heads: 头数 头
mask: 掩码 遮罩 掩碼
scale: 缩放因子 缩放系数
Q: 查询 查询矩阵 查询向量 查詢
K: 键 键矩阵 键向量 鍵
V: 值 值矩阵 值向量
scores: 得分 分数 注意力得分 注意力分数 相似度 点积 分數 注意力分數
scaled: 缩放 缩放后 缩放得分 缩放分数 缩放后的得分 缩放后的分数 縮放
masked: 掩码后 掩码得分 掩码分数 掩码后的得分 掩码后的分数
exp: 指数 分子 指數
sum: 求和 总和 分母 總和
weights: 权重 注意力权重 注意力矩阵 注意力权重矩阵 概率 權重 注意力權重
context: 上下文 上下文向量
concat: 拼接 连接 拼接后
output: 输出 输出矩阵 结果 輸出
positions: 位置编码 位置編碼
STEP: 步骤 步驟 第 题
TASK: 题目 满分
BEFORE: 设 令
AFTER: 是 为
MATRIX: 矩阵 向量 权重矩阵
AND: 和 与
""",
}
"""The tables as they are written; a line that ends with a backslash goes on in the next one."""

LANGUAGES = {
    language: dict(row.split(": ", 1) for row in table.strip("\n").split("\n"))
    for language, table in TABLES.items()
}
"""The words of each language, with blanks between them, by the first word of their row."""


def words_for(name: str) -> list[str]:
    """Return the words of all languages in the row of a name.

    >>> words_for("mask")[:2], words_for("Q_rotated")
    (['maske', 'masque'], [])
    """
    return " ".join(rows[name] for rows in LANGUAGES.values() if name in rows).split()
