// A small NumPy: the functions that the program calls when it applies an operation, by their names.
// An array is {shape, data}; axes of size 1, and those that are missing in front, are repeated. A truth is 0 or 1.
const attnNumpy = (function () {
  "use strict";
  const count = (shape) => shape.reduce((size, n) => size * n, 1);
  const filled = (shape, data) => ({ shape, data: data || new Float64Array(count(shape)) });
  const scalar = (x) => filled([], [x]);
  const lined = (axis, shape) => (axis < 0 ? axis + shape.length : axis);

  // Returns the numbers from a place on, with so many places from one to the next along each axis.
  function strided(data, shape, start, steps) {
    const result = filled(shape), index = shape.map(() => 0);
    for (let i = 0, from = start; i < result.data.length; i += 1) {
      result.data[i] = data[from];
      for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
        from += steps[axis];
        index[axis] += 1;
        if (index[axis] < shape[axis]) break;
        from -= steps[axis] * shape[axis];
        index[axis] = 0;
      }
    }
    return result;
  }

  function widest(shapes) {
    const long = shapes.reduce((a, b) => (b.length > a.length ? b : a));
    return long.map((_, i) => shapes.reduce((n, s) => Math.max(n, s[i - long.length + s.length] ?? 1), 1));
  }

  // Returns the numbers of an array as those of a wider shape.
  function broadcast(array, shape) {
    if (array.data.length === count(shape)) return array.data;
    const steps = shape.map(() => 0), skipped = shape.length - array.shape.length;
    for (let axis = array.shape.length - 1, by = 1; axis >= 0; by *= array.shape[axis], axis -= 1) {
      if (array.shape[axis] > 1) steps[axis + skipped] = by;
    }
    return strided(array.data, shape, 0, steps).data;
  }

  // Returns a function of one to three arrays that applies a rule to the numbers at the same place.
  function each(rule) {
    return (...arrays) => {
      const shape = widest(arrays.map((array) => array.shape)), result = filled(shape);
      const [a, b = a, c = a] = arrays.map((array) => broadcast(array, shape));
      for (let i = 0; i < result.data.length; i += 1) result.data[i] = rule(a[i], b[i], c[i]);
      return result;
    };
  }

  // Returns a function that replaces each line along an axis by what a rule makes of it.
  function lines(rule) {
    return (array, along) => {
      const shape = array.shape.slice(), axis = lined(along, shape), size = shape[axis];
      const after = count(shape.slice(axis + 1)), before = count(shape.slice(0, axis));
      let result = null;
      for (let i = 0; i < before * after; i += 1) {
        const start = Math.floor(i / after) * size * after + (i % after);
        const line = rule(Array.from({ length: size }, (_, j) => array.data[start + j * after]));
        if (!result) {
          shape[axis] = line.length;
          result = filled(shape);
        }
        line.forEach((x, j) => { result.data[(Math.floor(i / after) * line.length + j) * after + (i % after)] = x; });
      }
      return result;
    };
  }
  const reduced = (rule, first) => lines((line) => [line.reduce(rule, first)]);
  const running = (rule) => lines((line) => {
    let last;
    return line.map((x, i) => (last = i ? rule(last, x) : x));
  });

  // What is left of numbers that cancel is 0, as far as `level` of their size: in a backward pass.
  const noise = { level: 0 };
  const clean = (x, size) => (Math.abs(x) <= noise.level * size ? 0 : x);
  const size = (line) => line.reduce((sum, x) => sum + Math.abs(x), 0);

  function matmul(a, b) {
    const [n, inner] = a.shape.slice(-2), m = b.shape[b.shape.length - 1];
    const lead = widest([a.shape.slice(0, -2), b.shape.slice(0, -2)]), result = filled([...lead, n, m]);
    const left = broadcast(a, [...lead, n, inner]), right = broadcast(b, [...lead, inner, m]);
    for (let place = 0; place < result.data.length; place += 1) {
      const row = Math.floor(place / m) * inner, column = Math.floor(place / (n * m)) * inner * m + (place % m);
      let sum = 0, sizes = 0;
      for (let k = 0; k < inner; k += 1) {
        const term = left[row + k] * right[column + k * m];
        sum += term;
        sizes += Math.abs(term);
      }
      result.data[place] = clean(sum, sizes);
    }
    return result;
  }

  // Returns a sum, with what each addition rounds away added at the end (Neumaier 1974).
  function total(line) {
    let sum = 0, lost = 0;
    line.forEach((x) => {
      const next = sum + x;
      lost += Math.abs(sum) < Math.abs(x) ? x - next + sum : sum - next + x;
      sum = next;
    });
    return isFinite(sum) ? [clean(sum + lost, size(line))] : [sum];
  }

  // 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!, of terms of one sign (DLMF 7.6.2); from 2 on
  // 1 − e^(−x²)/√π / (x + (1/2) / (x + (2/2) / (x + …))) (7.9.1), as 1 − |x| must keep its digits.
  function erf(x) {
    const distance = Math.abs(x);
    if (distance > 6) return Math.sign(x);
    if (distance > 2) {
      let below = distance;
      for (let n = 100; n > 0; n -= 1) below = distance + n / 2 / below;
      return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / below);
    }
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n += 1) sum += term *= (2 * x * x) / (2 * n + 1);
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  const functions = {
    constant: (shape, data) => filled(shape, Float64Array.from(data, (x) => x ?? -Infinity)),
    // Returns the numbers at some places, counted through all arrays; with `steps` from one place on.
    move: (...parts) => {
      const arrays = parts.slice(0, -3), [shape, places, steps] = parts.slice(-3);
      const data = arrays.length > 1 ? arrays.flatMap((array) => Array.from(array.data)) : arrays[0].data;
      return steps ? strided(data, shape, places, steps) : filled(shape, Float64Array.from(places, (i) => data[i]));
    },
    matmul,
    add: each((x, y) => clean(x + y, Math.abs(x) + Math.abs(y))),
    subtract: each((x, y) => clean(x - y, Math.abs(x) + Math.abs(y))),
    multiply: each((x, y) => x * y),
    divide: each((x, y) => x / y),
    power: each((x, y) => (y === 2 ? x * x : x ** y)),
    ldexp: each((x, y) => x * 2 ** Math.trunc(y / 2) * 2 ** (y - Math.trunc(y / 2))),
    maximum: each((x, y) => Math.max(x, y)),
    minimum: each((x, y) => Math.min(x, y)),
    where: each((x, y, z) => (x ? y : z)),
    equal: each((x, y) => x === y),
    not_equal: each((x, y) => x !== y),
    less: each((x, y) => x < y),
    less_equal: each((x, y) => x <= y),
    greater: each((x, y) => x > y),
    greater_equal: each((x, y) => x >= y),
    bitwise_and: each((x, y) => x && y),
    bitwise_or: each((x, y) => x || y),
    invert: each((x) => !x),
    isfinite: each(isFinite),
    isinf: each((x) => x === Infinity || x === -Infinity),
    isnan: each(isNaN),
    negative: each((x) => -x),
    square: each((x) => x * x),
    absolute: each(Math.abs),
    exponent: each((x) => (x === 0 ? 0 : Math.floor(Math.log2(Math.abs(x))) + 1)),
    erf: each(erf),
    total: lines(total),
    sum: lines((line) => [clean(line.reduce((a, b) => a + b, 0), size(line))]),
    max: reduced((a, b) => Math.max(a, b), -Infinity),
    min: reduced((a, b) => Math.min(a, b), Infinity),
    cumsum: running((a, b) => a + b),
    sort: lines((line) => line.sort((a, b) => a - b)),
    take_along_axis: (array, places, along) => {
      const axis = lined(along, array.shape), after = count(array.shape.slice(axis + 1)), n = places.shape[axis];
      const from = (i) => (Math.floor(i / after / n) * array.shape[axis] + places.data[i]) * after + (i % after);
      return filled(places.shape, places.data.map((_, i) => array.data[from(i)]));
    },
  };
  "exp log tanh sqrt cos sin cosh sinh tan sign floor ceil expm1 log1p".split(" ").forEach((name) => {
    functions[name] = each(Math[name]);
  });

  // Returns the result of the last call of a program. An operand from 0 on is one of those that it is called
  // with, −1 is the result of the first call, −2 that of the second; a text is a number.
  function run(program, operands) {
    const results = [];
    const operand = (x) => (typeof x === "string" ? scalar(Number(x)) : x < 0 ? results[-1 - x] : operands[x]);
    program.forEach(([name, parts, ...options]) => {
      results.push(functions[name](...parts.map(operand), ...options));
    });
    return results.length ? results[results.length - 1] : operands[0];
  }

  return { noise, scalar, run, erf };
})();
