/** Waiting to be told to end. */
import { once } from 'node:events';

/** Both signals are how a service is meant to end; a second of either ends it at once. */
export async function untilSignal(): Promise<void> {
  const heard = new AbortController();
  const signals = ['SIGINT', 'SIGTERM'].map((name) => once(process, name, heard));
  await Promise.race(signals).finally(() => heard.abort());
}
