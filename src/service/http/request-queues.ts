/** The requests of each connection, answered one after the other: many fit into one packet, and their answers not into memory. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Asked {
  response: ServerResponse;
  begin: () => void;
}

/** Of a connection: nobody asks so much ahead, and each takes some kilobytes. */
const maxWaiting = 1_000;

export class RequestQueues {
  readonly #queues = new Map<Socket, Asked[]>();

  /**
   * Calls `begin` once the requests before it on its connection are answered; never where the client has gone by then.
   * A connection on which too many wait is cut.
   */
  add(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const queue = this.#queueOf(socket);
    if (queue.length > maxWaiting) return void socket.destroy();
    queue.push({ response, begin });
    response.once('close', () => {
      queue.shift();
      if (!socket.destroyed) queue[0]?.begin();
    });
    if (queue.length === 1) begin();
  }

  /** What is not answered to its end, in the order of the requests. */
  of(socket: Socket): ServerResponse[] {
    return (this.#queues.get(socket) ?? []).map(({ response }) => response);
  }

  get all(): ServerResponse[] {
    return [...this.#queues.keys()].flatMap((socket) => this.of(socket));
  }

  #queueOf(socket: Socket): Asked[] {
    const known = this.#queues.get(socket);
    if (known !== undefined) return known;
    const queue: Asked[] = [];
    this.#queues.set(socket, queue);
    // Those that were not begun have no end of their own.
    socket.once('close', () => this.#queues.delete(socket));
    return queue;
  }
}
