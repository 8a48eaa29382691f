/** The endpoint's workers by state, where its health tells of them. */
export function readWorkers(health: Record<string, unknown>): Record<string, number> | undefined {
  const { workers } = health;
  if (typeof workers !== 'object' || workers === null || Array.isArray(workers)) return undefined;
  const counts = Object.entries(workers).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && /^\w{1,32}$/.test(entry[0]),
  );
  return counts.length === 0 ? undefined : Object.fromEntries(counts.slice(0, mostStates));
}

/** More are no states of workers. */
const mostStates = 16;
