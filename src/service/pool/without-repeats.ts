/** Says the same trouble once in a while, however often it is met. */

const againAfterMs = 60_000;

export function withoutRepeats(emit: (text: string) => void): (text: string) => void {
  let last = '';
  let toldAt = -Infinity;
  return (text) => {
    const now = performance.now();
    if (text === last && now - toldAt < againAfterMs) return;
    [last, toldAt] = [text, now];
    emit(text);
  };
}
