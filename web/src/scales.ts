import { scaleLinear } from "d3-scale";

/** Steps on an axis from 0 to 1: the part until `until`, in which paths emerge, takes most of it. */
export function timeScale(first: number, until: number, end: number) {
  const whole = end <= first ? first + 1 : end;
  if (until <= first || until >= whole) return scaleLinear([first, whole], [0, 1]);
  return scaleLinear([first, until, whole], [0, 0.8, 1]);
}
