/** Returns the value if it is a number, or the number that its text represents. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const isNumber = typeof value === 'string' && /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i.test(value);
  return isNumber ? Number(value) : undefined;
}
