/** Where the service keeps its files unless told otherwise. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export function defaultDataDir(): string {
  return join(process.env['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share'), 'nightrender');
}
