/** Ends what the service started even where the service is killed and cannot: a shell of its own waits for that. */
import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Its standard input ends with the service, whatever ends that. Polite workers then have two seconds to see that theirs
 * has ended too. A line instead says that there is nothing left to do.
 */
const script = `
trap '' HUP INT TERM
read -r line && exit
sleep 2
kill -s KILL -- "-$1"
shift
[ $# -eq 0 ] || exec "$@"
`;

/**
 * Guards the process group; `cleanUp` is a command to run in the end as well. The function that is returned lifts the
 * guard, to be called once the group has gone. Where there is no shell there is no guard.
 */
export function guardProcessGroup(group: number, cleanUp: readonly string[] = []): () => void {
  const guard: ChildProcess = spawn(
    '/bin/sh',
    ['-c', script, 'nightrender-guard', String(group), ...cleanUp],
    {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  guard.on('error', () => undefined).unref();
  // Without files to open there is no pipe.
  guard.stdin?.on('error', () => undefined);
  return () => void guard.stdin?.end('\n');
}
