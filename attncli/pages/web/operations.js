// The operations of the tape, one function each: named, and in the order, as in the program.
// A function takes the operation's own fields and the arrays of its operands, and returns an array.
// An array is {shape, data}: its axes are (batch, head, row, column[, hidden]), 1 where one is missing.
const attnOperations = (function () {
  "use strict";
  const count = (shape) => shape.reduce((size, n) => size * n, 1);
  const filled = (shape, data) => ({ shape, data: data || new Float64Array(count(shape)) });

  // Returns the distances between neighbours along the axes of a wider shape; 0 where it broadcasts.
  function strides(shape, wide) {
    const found = wide.map(() => 0);
    for (let axis = shape.length - 1, by = 1; axis >= 0; by *= shape[axis], axis -= 1) {
      found[axis + wide.length - shape.length] = shape[axis] > 1 ? by : 0;
    }
    return found;
  }

  function widest(shapes) {
    const long = shapes.reduce((a, b) => (b.length > a.length ? b : a));
    return long.map((_, i) => Math.max(...shapes.map((s) => s[i - long.length + s.length] ?? 1)));
  }

  // Calls `visit` with each index of a shape and its place in the data.
  function walk(shape, visit) {
    const index = shape.map(() => 0), size = count(shape);
    for (let place = 0; place < size; place += 1) {
      visit(index, place);
      for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis -= 1) index[axis] = 0;
    }
  }

  // What is left of numbers that cancel is 0, as far as `level` of their size: in a backward pass.
  const noise = { level: 0 };
  const clean = (x, size) => (Math.abs(x) <= noise.level * size ? 0 : x);

  // Returns what a rule gives for the numbers of one to three arrays at the same place.
  function each(rule, ...arrays) {
    const shape = widest(arrays.map((a) => a.shape)), found = filled(shape);
    const [a, b, c] = arrays.map((array) => ({ data: array.data, by: strides(array.shape, shape) }));
    const at = (side, index) => side && side.data[index.reduce((sum, i, axis) => sum + i * side.by[axis], 0)];
    walk(shape, (index, place) => { found.data[place] = rule(at(a, index), at(b, index), at(c, index)); });
    return found;
  }

  // Returns an array of a shape, with the number of another one from the index that `from` gives.
  function moved(array, shape, from) {
    const found = filled(shape), by = strides(array.shape, array.shape);
    walk(shape, (index, place) => {
      found.data[place] = array.data[from(index).reduce((sum, i, axis) => sum + i * by[axis], 0)];
    });
    return found;
  }

  // Returns an array with each line along an axis (-1 is the last) replaced by what a rule makes of it.
  function lines(rule, array, along) {
    const shape = array.shape.slice(), axis = shape.length + along, size = shape[axis];
    const after = count(shape.slice(axis + 1)), before = count(shape.slice(0, axis));
    let found = null;
    for (let i = 0; i < before * after; i += 1) {
      const outer = Math.floor(i / after), inner = i % after;
      const made = rule(Array.from({ length: size }, (_, j) => array.data[(outer * size + j) * after + inner]));
      if (!found) {
        shape[axis] = made.length;
        found = filled(shape);
      }
      made.forEach((x, j) => { found.data[(outer * made.length + j) * after + inner] = x; });
    }
    return found;
  }

  const total = (line) => clean(line.reduce((sum, x) => sum + x, 0), line.reduce((sum, x) => sum + Math.abs(x), 0));
  // Returns a sum, with what each addition rounds away added at the end (Neumaier 1974).
  function exactly(line) {
    let sum = 0, lost = 0;
    line.forEach((x) => {
      const next = sum + x;
      lost += Math.abs(sum) < Math.abs(x) ? x - next + sum : sum - next + x;
      sum = next;
    });
    return isFinite(sum) ? clean(sum + lost, line.reduce((size, x) => size + Math.abs(x), 0)) : sum;
  }
  const largest = (line) => line.reduce((a, b) => (b > a ? b : a), -Infinity);
  const sums = (array, along) => lines((line) => [total(line)], array, along);
  const rows = (array, start, stop) => cut(array, -2, start, stop);
  const shaped = (array, shape) => filled(shape, array.data);
  const times = (a, b) => each((x, y) => x * y, a, b);
  const over = (a, b) => each((x, y) => x / y, a, b);
  const lengths = (array) => lines((line) => [Math.sqrt(total(line.map((x) => x * x)))], array, -1);

  function swapped(array) {
    const swap = (items) => [...items.slice(0, -2), items[items.length - 1], items[items.length - 2]];
    return moved(array, swap(array.shape), swap);
  }

  function cut(array, along, start, stop) {
    return lines((line) => line.slice(start, stop), array, along);
  }

  function joined(arrays, along) {
    const lead = widest(arrays.map((a) => a.shape.map((n, i) => (i === a.shape.length + along ? 1 : n))));
    const axis = lead.length + along, own = (a) => lead.map((n, i) => (i === axis ? a.shape[i] : n));
    const wide = arrays.map((a) => moved(a, own(a), (i) => i)), shape = wide[0].shape.slice(), from = [];
    wide.forEach((array, which) => { for (let i = 0; i < array.shape[axis]; i += 1) from.push([array, i, which]); });
    shape[axis] = from.length;
    const found = filled(shape), by = wide.map((a) => strides(a.shape, a.shape));
    walk(shape, (index, place) => {
      const [array, own, which] = from[index[axis]];
      found.data[place] = array.data[index.reduce((sum, i, a) => sum + (a === axis ? own : i) * by[which][a], 0)];
    });
    return found;
  }

  function product(a, b) {
    const [n, inner] = a.shape.slice(-2), m = b.shape[b.shape.length - 1];
    const lead = widest([a.shape.slice(0, -2), b.shape.slice(0, -2)]), found = filled([...lead, n, m]);
    const byA = strides(a.shape.slice(0, -2), lead), byB = strides(b.shape.slice(0, -2), lead);
    walk(lead, (index, place) => {
      const inA = index.reduce((sum, i, axis) => sum + i * byA[axis], 0) * n * inner;
      const inB = index.reduce((sum, i, axis) => sum + i * byB[axis], 0) * inner * m;
      for (let i = 0; i < n; i += 1) {
        for (let j = 0; j < m; j += 1) {
          let sum = 0, size = 0;
          for (let k = 0; k < inner; k += 1) {
            const term = a.data[inA + i * inner + k] * b.data[inB + k * m + j];
            sum += term;
            size += Math.abs(term);
          }
          found.data[(place * n + i) * m + j] = clean(sum, size);
        }
      }
    });
    return found;
  }

  // Returns (…, n, m, d) of what a rule gives for each row of q with each row of k.
  function pairs(rule, q, k) {
    const one = shaped(q, [...q.shape.slice(0, -1), 1, q.shape[q.shape.length - 1]]);
    const other = shaped(k, [...k.shape.slice(0, -2), 1, ...k.shape.slice(-2)]);
    return rule(one, other);
  }

  // Returns pairs without their last axis, the sum along it.
  function summedPairs(array, along) {
    const found = sums(array, along), axis = array.shape.length + along;
    return shaped(found, found.shape.filter((_, i) => i !== axis));
  }

  // 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!, of terms of one sign (DLMF 7.6.2); from 2 on
  // 1 − e^(−x²)/√π / (x + (1/2) / (x + (2/2) / (x + …))) (7.9.1), as 1 − |x| must keep its digits.
  function erf(x) {
    const size = Math.abs(x);
    if (size > 6) return Math.sign(x);
    if (size > 2) {
      let below = size;
      for (let n = 100; n > 0; n -= 1) below = size + n / 2 / below;
      return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / below);
    }
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n += 1) sum += term *= (2 * x * x) / (2 * n + 1);
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  // The largest score of each line, among them a sink's; 0 if all are blocked.
  function shift(o, scores, sink) {
    let found = scores;
    [].concat(o.shift_along).forEach((along) => { found = lines((line) => [largest(line)], found, along); });
    if (sink) found = each((x, y) => Math.max(x, (y * o.temperature) / Math.log(o.base)), found, sink);
    return each((x) => (x === -Infinity ? 0 : x), found);
  }

  function first(line) {
    const most = largest(line), which = line.indexOf(most);
    return line.map((_, i) => (i === which && most > -Infinity ? 1 : 0));
  }

  function nearest(line, temperature) {
    const most = largest(line);
    if (most === -Infinity) return line.map(() => 0);
    const moved = line.map((x) => (x - most) / temperature), sorted = moved.slice().sort((a, b) => b - a);
    let sum = 0, threshold = 0;
    sorted.forEach((x, i) => {
      sum += x;
      if (1 + (i + 1) * x > sum) threshold = (sum - 1) / (i + 1);
    });
    return moved.map((x) => Math.max(x - threshold, 0));
  }

  // From here on the program subtracts the largest score, as core/arithmetic/floats has it.
  const LARGEST_EXPONENT = Math.log(Number.MAX_VALUE) - 20;
  const argument = (o, x) => o.factor * (x + o.cubic * x * x * x);
  const mean = (line) => [total(line) / line.length];

  return {
    noise,
    MatMul: (o, a, b) => product(a, b),
    Transposed: (o, a) => swapped(a),
    Add: (o, a, b) => each((x, y) => clean(x + y, Math.abs(x) + Math.abs(y)), a, b),
    Divide: (o, a, b) => each((x, y) => (y === 0 ? 0 : x / y), a, b),
    Scale: (o, a) => each((x) => (x * o.times) / o.over, a),
    Tanh: (o, a) => each(Math.tanh, a),
    SoftCap: (o, a) => each((x) => o.cap * Math.tanh(x / o.cap), a),
    Concatenate: (o, ...parts) => joined(parts, -1),
    // core/tape/derivatives
    Hadamard: (o, a, b) => times(a, b),
    Subtract: (o, a, b) => each((x, y) => clean(x - y, Math.abs(x) + Math.abs(y)), a, b),
    Negative: (o, a) => each((x) => -x, a),
    OneMinusSquare: (o, a) => each((y) => 1 - y * y, a),
    Passed: (o, a, seen) => each((x, y) => (y === (o.infinite ? -Infinity : 0) ? 0 : x), a, seen),
    Columns: (o, a) => cut(a, -1, o.start, o.stop),
    Summed: (o, a) => {
      const skip = a.shape.length - o.sizes.length;
      const over = a.shape.map((n, i) => (n > 1 && (o.sizes[i - skip] ?? 1) === 1 ? i - a.shape.length : 0));
      return shaped(over.filter(Boolean).reduce((found, along) => sums(found, along), a), o.sizes);
    },
    Spread: (o, a) => each((x) => x, a, filled(o.sizes)),
    // attention
    SplitHeads: (o, a) => {
      const [batch, , n, width] = a.shape, d = width / o.heads;
      return moved(a, [batch, o.heads, n, d], ([b, h, i, j]) => [b, 0, i, h * d + j]);
    },
    RepeatHeads: (o, a) => {
      const [batch, heads, ...rest] = a.shape;
      return moved(a, [batch, heads * o.times, ...rest], ([b, h, ...own]) => [b, Math.floor(h / o.times), ...own]);
    },
    SideBySide: (o, a) => {
      const [batch, heads, n, d] = a.shape;
      return moved(a, [batch, 1, n, heads * d], ([b, , i, j]) => [b, Math.floor(j / d), i, j % d]);
    },
    SumSharedHeads: (o, a) => {
      const [batch, heads, n, d] = a.shape;
      return summedPairs(shaped(a, [batch, heads / o.times, o.times, n, d]), -3);
    },
    Exp: (o, scores, sink) => {
      const from = o.shift_along === null ? filled([1]) : shift(o, scores, sink);
      const size = Math.max(...Array.from(scores.data, Math.abs).filter(isFinite), 0);
      if (o.shift_along === null && (size / o.temperature) * Math.log(o.base) > LARGEST_EXPONENT) {
        throw "With this, the largest score would have to be subtracted first: save the problem, and make a page of that";
      }
      const power = (x) => (o.base === Math.E ? Math.exp(x) : o.base ** x);
      return each((s, m) => power((s - m) / o.temperature), scores, from);
    },
    Sum: (o, a) => lines((line) => [exactly(line)], a, o.along),
    SinkPower: (o, sink, scores) => {
      if (!scores) return each(Math.exp, sink);
      return each((z, m) => Math.exp(z - (m * Math.log(o.base)) / o.temperature), sink, shift(o, scores, sink));
    },
    Sigmoid: (o, a) => each((s) => (s < 0 ? Math.exp(s) : 1) / (1 + Math.exp(-Math.abs(s))), a),
    Unblocked: (o, a) => each((s) => (s === -Infinity ? 0 : s), a),
    Hardmax: (o, a) => lines(first, a, o.along),
    Sparsemax: (o, a) => lines((line) => nearest(line, o.temperature), a, o.along),
    SupportMean: (o, a, weights) => {
      const sum = sums(each((x, w) => (w > 0 ? x : 0), a, weights), o.along);
      return over(sum, sums(each((w) => (w > 0 ? 1 : 0), weights), o.along));
    },
    Relu: (o, a) => each((x) => Math.max(x, 0), a),
    Phi: (o, a) => each((x) => (1 + erf(x / o.root)) / 2, a),
    Density: (o, a) => each((x) => Math.exp((-x * x) / 2) / o.root, a),
    TanhGate: (o, a) => each((x) => 1 / (1 + Math.exp(-2 * argument(o, x))), a),
    TanhGateSlope: (o, a) => each((x) => (1 / Math.cosh(argument(o, x)) ** 2 / 2) * o.factor * (1 + 3 * o.cubic * x * x), a),
    AddedByPlace: (o, a) => each((s, x) => s + x, a, filled([1, ...a.shape.slice(1)], o.numbers)),
    AtDistances: (o, a) => {
      const [n, m] = o.size;
      return moved(a, [1, a.shape[1], n, m], ([, h, i, j]) => [0, h, 0, o.which[i * m + j]]);
    },
    SumOfDistances: (o, a) => {
      const found = filled([a.shape[0], a.shape[1], 1, o.count]), m = a.shape[3];
      walk(a.shape, ([b, h, i, j], place) => {
        found.data[(b * a.shape[1] + h) * o.count + o.which[i * m + j]] += a.data[place];
      });
      return found;
    },
    Mean: (o, a) => lines(mean, a, -1),
    MeanSquare: (o, a) => lines((line) => mean(line.map((x) => x * x)), a, -1),
    Variance: (o, a, m) => lines(mean, each((x, y) => (x - y) ** 2, a, m), -1),
    Deviation: (o, a) => each((v) => Math.sqrt(o.is_plain ? v : v + o.eps), a),
    Masked: (o, a, mask) => each((s, keep) => (keep === 0 ? -Infinity : s), a, mask),
    Cosine: (o, q, k) => over(product(q, swapped(k)), times(lengths(q), swapped(lengths(k)))),
    GaussianExponent: (o, q, k) => {
      const squares = pairs((a, b) => each((x, y) => ((x - y) / o.width) ** 2, a, b), q, k);
      return each((s) => -s / 2, summedPairs(squares, -1));
    },
    EachPair: (o, q, k) => pairs((a, b) => each((x, y) => x + y, a, b), q, k),
    ConcatenatePairs: (o, q, k) => pairs((a, b) => {
      const shape = widest([a.shape.slice(0, -1), b.shape.slice(0, -1)]);
      return joined([a, b].map((side) => each((x) => x, side, filled([...shape, 1]))), -1);
    }, q, k),
    EluPlusOne: (o, a) => each((x) => (x > 0 ? (o.is_slope ? 1 : x + 1) : Math.exp(x)), a),
    PairDot: (o, a, vector) => summedPairs(times(a, vector), -1),
    OfEachPair: (o, numbers, vectors) => times(shaped(numbers, [...numbers.shape, 1]), vectors),
    SumPairs: (o, a) => summedPairs(a, o.along),
    ThroughCosine: (o, up, cosines, own, other) => {
      const length = lengths(own), shared = sums(times(up, cosines), -1);
      const turning = product(up, over(other, lengths(other)));
      return each((x, y, n) => (x - y) / n, turning, times(shared, over(own, length)), length);
    },
    ThroughDistance: (o, up, own, other) => {
      const apart = pairs((a, b) => each((x, y) => y - x, a, b), own, other);
      return each((x) => x / o.width ** 2, summedPairs(times(shaped(up, [...up.shape, 1]), apart), -2));
    },
    Length: (o, a) => {
      if (o.eps === null) return lengths(a);
      return lines((line) => [Math.sqrt(total(line.map((x) => x * x)) / line.length + o.eps)], a, -1);
    },
    OfAngles: (o, a) => each(Math[o.function], a),
    Rotated: (o, a, cos, sin) => {
      const found = filled(a.shape, a.data.slice()), [n, size] = a.shape.slice(-2);
      o.pairs.forEach(([x, y], pair) => {
        for (let row = 0; row < a.data.length / size; row += 1) {
          const at = (row % n) * o.pairs.length + pair, c = cos.data[at], s = o.back ? -sin.data[at] : sin.data[at];
          const u = a.data[row * size + x], v = y < size ? a.data[row * size + y] : 0;
          found.data[row * size + x] = u * c - v * s;
          if (y < size) found.data[row * size + y] = u * s + v * c;
        }
      });
      return found;
    },
    // mechanisms
    Total: (o, a) => filled([1, 1, 1, 1], [total(Array.from(a.data))]),
    SquaredError: (o, a, b) => {
      const squares = each((x, y) => (x - y) ** 2, a, b);
      return filled([1, 1, 1, 1], [total(Array.from(squares.data)) / o.over]);
    },
    Descent: (o, a, slope) => each((x, d) => x - d * o.rate, a, slope),
    Row: (o, a) => rows(a, o.place, o.place + (o.count || 1)),
    InRow: (o, a) => lines(([x]) => Array.from({ length: o.count }, (_, i) => (i === o.place ? x : 0)), a, -2),
    AsRow: (o, a) => a,
    MatVec: (o, matrix, vectors) => product(vectors, swapped(matrix)),
    Outer: (o, a, b) => product(swapped(a), b),
    AsColumn: (o, a) => swapped(a),
    Stacked: (o, ...parts) => joined(parts, -1),
    Below: (o, ...parts) => joined(parts, -2),
    Triangle: (o, ...parts) => {
      const width = Math.max(...parts.map((part) => part.shape[part.shape.length - 1]));
      const padded = (line) => Array.from({ length: width }, (_, i) => line[i] || 0);
      return joined(parts.map((part) => lines(padded, part, -1)), -2);
    },
    Enhanced: (o, a, b) => joined([a, b, each((x, y) => x - y, a, b), times(a, b)], -1),
    Rows: (o, a) => lines((line) => o.places.map((place) => line[place]), a, -2),
    Returned: (o, a) => lines((line) => {
      const found = Array.from({ length: o.count }, () => 0);
      o.places.forEach((place, i) => { found[place] += line[i]; });
      return found;
    }, a, -2),
    Next: (o, a) => lines(first, rows(a, a.shape[a.shape.length - 2] - 1), o.along),
    CrossEntropy: (o, a) => {
      const m = a.shape[a.shape.length - 1];
      return filled([1, 1, 1, 1], [-mean(o.places.map((place, i) => Math.log(a.data[i * m + place])))[0]]);
    },
  };
})();
