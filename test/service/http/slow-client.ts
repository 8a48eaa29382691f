/** A client that sends and reads as slowly as the test wants. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { key } from '../service-harness.ts';

export class SlowClient {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  #wantedBytes = 0;
  #onNews: () => void = () => undefined;
  received = 0;
  isClosed = false;

  static async connect(
    url: string,
    options: { allowHalfOpen?: true; localAddress?: string } = {},
  ): Promise<SlowClient> {
    const { hostname, port } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, ...options });
    await once(socket, 'connect');
    return new SlowClient(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    // These tests expect broken connections, so errors of the socket are ignored.
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#keep(chunk)).pause();
    socket.once('close', () => {
      this.isClosed = true;
      this.#onNews();
    });
    onTestFinished(() => void socket.destroy());
  }

  send(bytes: string): void {
    this.#socket.write(bytes);
  }

  ask(path: string, method = 'GET', withKey = key): void {
    this.send(`${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${withKey}\r\n\r\n`);
  }

  /** Reads until at least this many bytes were received in all, or the connection has ended. */
  async readUpTo(byteCount: number): Promise<void> {
    this.#wantedBytes = byteCount;
    if (this.received < byteCount) this.#socket.resume();
    while (this.received < byteCount && !this.isClosed)
      await new Promise<void>((resolve) => (this.#onNews = resolve));
  }

  /** Reads until the service ends the connection. */
  async readToEnd(): Promise<string> {
    await this.readUpTo(Infinity);
    return this.text();
  }

  /** Returns the text received so far. */
  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  leave(): void {
    this.#socket.destroy();
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.received += chunk.length;
    if (this.received < this.#wantedBytes) return;
    this.#socket.pause();
    this.#onNews();
  }
}

/** Starts a client that was asked for its request body and has sent half of it. */
export async function halfSent(url: string, path: string, headers: Record<string, string>, body: string) {
  const client = await SlowClient.connect(url);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  client.send(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  await client.readUpTo(1);
  client.send(body.slice(0, 5));
  return { finish: () => (client.send(body.slice(5)), client.readToEnd()) };
}
