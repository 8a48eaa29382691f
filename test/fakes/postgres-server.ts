/**
 * A server that speaks the part of PostgreSQL's protocol that clients need. A test decides the answers to statements.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { parsePostgresAddress, type PostgresAddress } from '../../src/lib/postgres/postgres.ts';

/** Rows of texts, an error with code and message, or no answer at all. */
type Said = { rows: Record<string, string>[] } | { code: string; message: string } | 'nothing';

/** `number` counts connections from 1. Undefined stands for no rows. */
type Answer = (text: string, number: number) => Said | undefined;

const int8 = 20;
const otherType = 25;

export class PostgresFake {
  /** Statements in order. */
  readonly log: string[] = [];
  /** Open connections by number. */
  readonly connections = new Map<number, Socket>();
  /** Error that a new connection gets instead of a welcome. `nothing` sends no answer. */
  refusal: { code: string; message: string } | 'nothing' | undefined;
  readonly #server: Server;
  readonly #answer: Answer;
  #made = 0;

  static async start(answer: Answer = () => undefined): Promise<PostgresFake> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const fake = new PostgresFake(server, answer);
    onTestFinished(() => fake.stop());
    return fake;
  }

  private constructor(server: Server, answer: Answer) {
    this.#server = server;
    this.#answer = answer;
    server.on('connection', (socket) => this.#serve(socket));
  }

  get address(): PostgresAddress {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return parsePostgresAddress(`postgres://me:secret@127.0.0.1:${port}/night`, []);
  }

  /** Number of connections that were ever made. */
  get made(): number {
    return this.#made;
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.connections.values()) socket.destroy();
  }

  #serve(socket: Socket): void {
    const number = ++this.#made;
    let received = Buffer.alloc(0);
    let isWelcome = false;
    let prepared = '';
    socket.on('error', () => undefined);
    socket.on('close', () => this.connections.delete(number));
    this.connections.set(number, socket);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        const at = isWelcome ? 1 : 0;
        const length = received.length >= at + 4 ? received.readUInt32BE(at) : Infinity;
        if (received.length < at + length) return;
        const type = isWelcome ? String.fromCharCode(received[0] ?? 0) : 'startup';
        const body = received.subarray(at + 4, at + length);
        received = received.subarray(at + length);
        if (type === 'startup') {
          isWelcome = true;
          this.#welcome(socket, number);
        } else if (type === 'P') prepared = body.toString().split('\0')[1] ?? '';
        else if (type === 'Q') this.#tell(socket, number, body.toString('utf8', 0, body.length - 1));
        else if (type === 'S') this.#tell(socket, number, prepared);
        else if (type === 'X') socket.end();
      }
    });
  }

  #welcome(socket: Socket, number: number): void {
    if (this.refusal === 'nothing') return;
    if (this.refusal !== undefined) return void socket.end(errorOf('FATAL', this.refusal));
    const key = Buffer.alloc(8);
    key.writeUInt32BE(number);
    socket.write(Buffer.concat([message('R', Buffer.alloc(4)), message('K', key), ready]));
  }

  #tell(socket: Socket, number: number, text: string): void {
    this.log.push(text);
    const said = this.#answer(text, number) ?? { rows: [] };
    if (said === 'nothing') return;
    if ('code' in said) return void socket.write(Buffer.concat([errorOf('ERROR', said), ready]));
    const names = Object.keys(said.rows[0] ?? {});
    const fields = names.map((name) => Buffer.concat([zeroEnded(name), fieldOf(name)]));
    const described = message('T', count(names.length), ...fields);
    const rows = said.rows.map((row) => {
      const values = Object.values(row).map((value) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(Buffer.byteLength(value));
        return Buffer.concat([length, Buffer.from(value)]);
      });
      return message('D', count(values.length), ...values);
    });
    socket.write(Buffer.concat([described, ...rows, message('C', zeroEnded('SELECT')), ready]));
  }
}

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const ready = message('Z', Buffer.from('I'));

function zeroEnded(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function count(many: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(many);
  return bytes;
}

/** Returns the description of a column. Its type is int8 if the name is `pid` or begins with `many`. */
function fieldOf(name: string): Buffer {
  const field = Buffer.alloc(18);
  field.writeUInt32BE(name.startsWith('many') || name === 'pid' ? int8 : otherType, 6);
  return field;
}

function errorOf(severity: string, { code, message: text }: { code: string; message: string }): Buffer {
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${text}`].map(zeroEnded);
  return message('E', ...fields, Buffer.alloc(1));
}
