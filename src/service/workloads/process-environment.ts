/** The environment of workers that are processes of this machine. */

/** Of the service's own; its keys in particular are not among them. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

export interface ProcessOwner {
  endpointId: string;
  workerId: string;
}

/** What every process needs, what the endpoint's settings add, and who the worker is, as workers elsewhere learn it. */
export function processEnvironment(
  settings: Readonly<Record<string, string>>,
  { endpointId, workerId }: ProcessOwner,
  own: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const needed = inherited.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]));
  return {
    ...Object.fromEntries(needed),
    ...settings,
    RUNPOD_ENDPOINT_ID: endpointId,
    RUNPOD_POD_ID: workerId,
  };
}
