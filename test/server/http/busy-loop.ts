/** Keeps the event loop busy. */
export function workFor(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
