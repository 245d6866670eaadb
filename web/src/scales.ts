/** Steps on an axis from 0 to 1; by square roots, as most happens early. */
export const timeScale = (first: number, end: number) => (step: number) =>
  Math.sqrt(Math.max(0, step - first) / Math.max(1, end - first));

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
