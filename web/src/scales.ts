/** A scale of numbers, straight between the places that are given; the numbers rise. */
export function linear(from: number[], to: number[]): (value: number) => number {
  return (value) => {
    const piece = Math.max(1, from.findIndex((end, i) => i > 0 && value <= end));
    const i = value > from.at(-1)! && from.at(-1)! > from[0] ? from.length - 1 : piece;
    return to[i - 1] + ((to[i] - to[i - 1]) * (value - from[i - 1])) / (from[i] - from[i - 1]);
  };
}

/** Steps on an axis from 0 to 1, and back; those until `until`, in which paths emerge, take most
 * of it. */
export function timeScale(first: number, until: number, end: number) {
  const whole = end <= first ? first + 1 : end;
  const bent = first < until && until < whole;
  const [steps, places] = bent ? [[first, until, whole], [0, 0.8, 1]] : [[first, whole], [0, 1]];
  return Object.assign(linear(steps, places), { invert: linear(places, steps) });
}

/** Round numbers from one to another, about as many as are asked for. */
export function ticks(from: number, to: number, count: number): number[] {
  const rough = Math.max(1e-12, (to - from) / count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
  const start = Math.ceil(from / step - 1e-9);
  const length = Math.max(0, Math.floor(to / step + 1e-9) - start + 1);
  return Array.from({ length }, (_, i) => +((start + i) * step).toPrecision(12));
}

/** A line through points, as a path of SVG. */
export function polyline(points: (readonly [number, number])[]): string {
  const places = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  return places.length ? `M${places.join("L")}` : "";
}
