/** Gives memory back at once: what is left to the garbage collector stays in memory for a while, and makes it work often. */
import { MessageChannel } from 'node:worker_threads';

let toNobody: MessageChannel['port1'] | undefined;

/** Nobody may look at it any more. `buffer` is all of its memory, and of nothing else's. */
export function freeMemory({ buffer }: Buffer): void {
  if (toNobody === undefined) {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    port1.unref();
    toNobody = port1;
  }
  // What is handed over and never arrives is freed; it could only be an `ArrayBuffer` of our own making.
  toNobody.postMessage(undefined, [buffer as ArrayBuffer]);
}
