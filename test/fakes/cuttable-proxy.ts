/**
 * A proxy whose connections can be interrupted silently, in one direction or both, as a broken cable or a firewall
 * does.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

export type Cut = 'both' | 'there' | 'back';

export class CuttableProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>();
  #cut: Cut | undefined;
  #answersLeft = Infinity;
  /** Number of connections that were made. */
  made = 0;

  static async to(port: number): Promise<CuttableProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CuttableProxy(server, port);
  }

  private constructor(server: Server, to: number) {
    this.#server = server;
    const address = server.address();
    this.port = typeof address === 'object' && address !== null ? address.port : 0;
    server.on('connection', (client) => this.#forward(client, connect(to, '127.0.0.1')));
  }

  /** Interrupts both directions after this number of answers. */
  cutAfter(answers: number): void {
    this.#answersLeft = answers;
  }

  /**
   * Interrupts these directions. Data on its way arrives after `mend`, because the system sends it again. No side is
   * told.
   */
  cut(which: Cut): void {
    this.#cut = which;
    for (const pair of this.#pairs) this.#hold(pair);
  }

  /** Interrupts present connections but not new ones, as a firewall does that has lost its table. */
  forgetAll(): void {
    for (const pair of this.#pairs) {
      pair.client.pause();
      pair.upstream.pause();
    }
  }

  mend(): void {
    this.#cut = undefined;
    for (const { client, upstream } of this.#pairs) for (const socket of [client, upstream]) socket.resume();
  }

  stop(): void {
    this.#server.close();
    for (const { client, upstream } of this.#pairs) for (const socket of [client, upstream]) socket.destroy();
  }

  #forward(client: Socket, upstream: Socket): void {
    this.made += 1;
    const pair = { client, upstream };
    this.#pairs.add(pair);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (chunk) => {
        to.write(chunk);
        if (from === upstream && --this.#answersLeft === 0) this.cut('both');
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
    }
    this.#hold(pair);
  }

  #hold({ client, upstream }: { client: Socket; upstream: Socket }): void {
    if (this.#cut === 'both' || this.#cut === 'there') client.pause();
    if (this.#cut === 'both' || this.#cut === 'back') upstream.pause();
  }
}
