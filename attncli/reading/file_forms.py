"""Forms of files by suffix or first bytes, with those that are not read, and encodings of text."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterator
from itertools import chain

from attncli.core.errors import InputError, fail
from attncli.core.text.strings import regex, visible
from attncli.reading.yaml_documents import check_length

WORKBOOK_SUFFIXES = (".xlsx", ".xlsm")
ARRAY_SUFFIXES = (".npz", ".npy", ".safetensors")
PAGE_SUFFIXES = (".html", ".htm")
MARKDOWN_SUFFIXES = (".md", ".markdown")

NOTEBOOK = regex(r'\s*+\{\s*+"(?:cells|nbformat|metadata(?=(?s:.*)"nbformat"))"\s*+:')
"""The beginning of a notebook: JSON whose first key is none of a problem."""

WEB_PAGE = regex(
    r"\s*+(?:(?><!--(?s:.*?)-->|<\?[^<>]*+>)\s*+)*+"
    r"<(?:!doctype html|(?:html|head|body|meta|table|div|h[1-6]|p)(?=[\s>]))",
    re.IGNORECASE,
)
"""The beginning of a web page, or of a part of one."""

AS_IT_IS = "which is not read as it is"
SPREADSHEET = f"a spreadsheet, {AS_IT_IS}"
AS_XLSX = "save it as .xlsx: {} and give that file"
DOCUMENT = "not a file of answers or of a problem"
AS_NPZ = 'in Python: np.savez("weights.npz", **{}), and give weights.npz'

EXCEL = SPREADSHEET, AS_XLSX.format("in Excel by File, Save As, Excel Workbook,")
LIBREOFFICE = SPREADSHEET, AS_XLSX.format("in LibreOffice by File, Save As, Excel 2007-365,")
APPLE_NUMBERS = SPREADSHEET, AS_XLSX.format("in Numbers by File, Export To, Excel,")
WORD_PROCESSOR = (
    f"a text document, {DOCUMENT}",
    "save it as text: in Word by File, Save As, Plain Text (.txt), and give that file",
)
PDF = f"a PDF, {DOCUMENT}", "copy its text into a .txt file"
MAIL = f"a mail, {DOCUMENT}", "copy its text into a .txt file"
PICTURE = f"a picture, {DOCUMENT}", "type its numbers into a .txt, CSV or YAML file"
PAGE = f"a web page, {DOCUMENT}", "a practice page saves what was typed: give that file"
ARCHIVE = f"an archive, {DOCUMENT}", "unpack it, and give the files in it"
PYTORCH = (
    f"a file of PyTorch, {AS_IT_IS}",
    AS_NPZ.format(
        '{k: v.float().numpy() for k, v in torch.load("FILE", weights_only=True).items()}'
    ),
)
PICKLE = (
    f"a pickle of Python, {AS_IT_IS}",
    "if you trust it, " + AS_NPZ.format('pickle.load(open("FILE", "rb"))'),
)
GGUF = (
    f"a file of GGUF, {AS_IT_IS}",
    AS_NPZ.format(
        '{t.name: gguf.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader("FILE").tensors}'
    ),
)
KERAS = (
    f"a file of Keras, or another one in HDF5, {AS_IT_IS}",
    AS_NPZ.format('{w.path: w.numpy() for w in keras.models.load_model("FILE").weights}'),
)
ONNX = (
    f"a model in ONNX, {AS_IT_IS}",
    AS_NPZ.format(
        '{t.name: onnx.numpy_helper.to_array(t) for t in onnx.load("FILE").graph.initializer}'
    ),
)

BY_SUFFIX = {
    ".xls": EXCEL,
    ".ods": LIBREOFFICE,
    ".numbers": APPLE_NUMBERS,
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pages"), WORD_PROCESSOR),
    ".pdf": PDF,
    **dict.fromkeys((".eml", ".msg"), MAIL),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".heic", ".webp", ".bmp", ".tif"), PICTURE),
    **dict.fromkeys((".zip", ".gz", ".tar", ".7z", ".rar"), ARCHIVE),
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), PYTORCH),
    **dict.fromkeys((".pkl", ".pickle"), PICKLE),
    ".gguf": GGUF,
    **dict.fromkeys((".h5", ".hdf5", ".keras"), KERAS),
    ".onnx": ONNX,
}
FIRST_BYTES = {
    b"%PDF-": PDF,
    b"\x89PNG": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"GIF8": PICTURE,
    b"{\\rtf": WORD_PROCESSOR,
    b"\x1f\x8b": ARCHIVE,
    b"GGUF": GGUF,
    b"\x89HDF": KERAS,
    b"\x80\x02\x8a\nl\xfc\x9cF": PYTORCH,
}
PICKLES = tuple(b"\x80%c" % protocol for protocol in range(2, 6))
ZIP_PARTS = {
    b"spreadsheet": LIBREOFFICE,
    b"Index/": APPLE_NUMBERS,
    b"word/": WORD_PROCESSOR,
    b"opendocument.text": WORD_PROCESSOR,
    b"/data.pkl": PYTORCH,
}
"""Names of parts near the start of the zip files that these programs write."""

OWN_PAGE = b"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"
"""What every page that attn writes forbids itself, near its start."""

START_BYTES = 4096
"""Number of bytes that are searched for these names."""


def unsupported(data: bytes, suffix: str) -> InputError | None:
    """Return the error for a file of another program, known by its first bytes or its suffix."""
    start = data[:START_BYTES]
    parts = ZIP_PARTS if start.startswith(b"PK") and suffix not in ARRAY_SUFFIXES else {}
    found = [what for sign, what in FIRST_BYTES.items() if start.startswith(sign)]
    found += [what for name, what in parts.items() if name in start]
    found += [PAGE] if OWN_PAGE in start else []
    found += [BY_SUFFIX[suffix]] if suffix in BY_SUFFIX else []
    found += [PICKLE] if start.startswith(PICKLES) else []
    return fail(f"this is {found[0][0]}", hint=found[0][1]) if found else None


def is_workbook(start: bytes, suffix: str) -> bool:
    is_zip = start.startswith(b"PK") and suffix not in ARRAY_SUFFIXES
    return suffix in WORKBOOK_SUFFIXES or (is_zip and b"xl/" in start[:START_BYTES])


def are_arrays(start: bytes, suffix: str) -> bool:
    """Return True for NPZ and NPY, and for safetensors: a length of 8 bytes, and JSON."""
    is_safetensors = start[4:9] == b"\0\0\0\0{"
    return suffix in ARRAY_SUFFIXES or start.startswith((b"PK", b"\x93N")) or is_safetensors


def is_notebook(start: bytes, suffix: str) -> bool:
    text = _ascii(start).lstrip()  # few begin so, and a pattern takes time to be compiled
    return text.startswith("{") and NOTEBOOK.match(text) is not None


def is_web_page(start: bytes, suffix: str) -> bool:
    """Return True for a text that begins as a page, unless it is Markdown, which may hold HTML."""
    if suffix in PAGE_SUFFIXES:
        return b"</" in start.replace(b"\0", b"")
    text = _ascii(start).lstrip()
    is_markup = text.startswith("<") and suffix not in MARKDOWN_SUFFIXES
    return is_markup and WEB_PAGE.match(text) is not None


def _ascii(start: bytes) -> str:
    """Return the ASCII characters of a text, which may be in UTF-16."""
    return start.decode("ascii", "ignore").replace("\0", "")


AS_TEXT = "write its numbers into a .txt, CSV or YAML file"

UNSEEN = dict.fromkeys((0x200B, 0x2060, 0xFEFF))  # without a width or a meaning: left out


def decoded(data: Iterator[bytes], name: str) -> Iterator[str]:
    """Yield the text of UTF-8, or of UTF-16 with a byte order mark, as Excel writes it.

    Other text is read as Windows-1252; a UnicodeWarning says so, with the name of the file.
    """
    block = next(data, b"")
    if len(block) == 1:  # a half of a byte order mark
        block += next(data, b"")
    encoding = encoding_of(block)
    wide = encoding != "utf-8-sig"
    if b"\0\0" in block and not wide:
        raise fail("this is neither text nor any other form of file that is read", hint=AS_TEXT)
    decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder(encoding)()
    line, is_ascii = 1, not block.startswith(codecs.BOM_UTF8)
    for some in chain([block], data, [b""]):
        try:
            text = decoder.decode(some, final=not some)
        except UnicodeDecodeError as error:
            if wide:
                raise fail("the file is broken UTF-16", hint="save it as UTF-8") from None
            text = _of_windows(error, name) if is_ascii else ""
            if not text:
                line += error.object.count(b"\n", 0, error.start)
                message = f"line {line} is not in UTF-8 (byte 0x{error.object[error.start]:02x})"
                raise fail(message, hint="save the file as UTF-8") from None
            decoder = codecs.getincrementaldecoder("cp1252")()
        line, is_ascii = line + text.count("\n"), is_ascii and text.isascii()
        yield text if text.isascii() else text.translate(UNSEEN)


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text, by its mark or by zeros in every second byte."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    if 4 * max(even, odd) <= len(start) or min(even, odd):
        return "utf-8-sig"
    return "utf-16-le" if odd else "utf-16-be"


def _of_windows(error: UnicodeDecodeError, name: str) -> str:
    """Return what is no UTF-8 as Windows-1252, with a warning; "" for bytes that this has not."""
    data, at = error.object, error.start
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    if not data[:at].isascii() or re.search(r"[\1-\b\x0e-\x1f]", text):
        return ""  # there is UTF-8 before it, or it is no text
    before, after = text[max(at - 20, 0) : at], text[at : at + 20]
    word = re.split(r"\s", before)[-1] + re.split(r"\s", after)[0]
    said = f"{visible(name)} is not in UTF-8; it is read as Windows-1252"
    hint = f"save it as UTF-8 if {visible(word)} is wrong"
    warnings.warn(f"{said}; {hint}", UnicodeWarning, stacklevel=2)
    return text


def whole(texts: Iterator[str]) -> str:
    parts, length = [], 0
    for text in texts:
        length += len(text)
        check_length(length)
        parts.append(text)
    return "".join(parts)
