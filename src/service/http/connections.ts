/** The connections of the service: whose they are, how many requests a key may have in progress, and which is closed if there are too many. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../../lib/net/addresses.ts';
import type { KeyHolder, KeyKind } from '../model/key.ts';
import { type HttpResponse, tooMany } from '../../lib/http/http-response.ts';

interface Connection {
  socket: Socket;
  /** As `nameOf` tells it while the socket is open: a closed one has no local address. */
  name: string;
  owner: Owner;
  /** Kind of the key whose request is in progress; undefined if none is, or no key was shown. */
  busy: KeyKind | undefined;
  isOpen: boolean;
}

/** A network whose connections have shown no key, or a key. */
interface Owner {
  name: string;
  isKey: boolean;
  /** The one that was used last is at the end. */
  connections: Set<Connection>;
  inProgress: number;
}

/** Share of all connections on which one key may have requests in progress. */
const shareOfKey = { client: 1 / 2, worker: 3 / 4, admin: 3 / 4 } as const satisfies Record<KeyKind, number>;

/** Share that a key has besides for requests that are answered at once, and for results. */
const shareOfShort = { client: 1 / 8, worker: 1 / 16, admin: 1 / 8 } as const satisfies Record<
  KeyKind,
  number
>;

/** The same of all keys of a kind and of those before it: the rest is a reserve for the kinds behind it. */
const shareUpTo = { client: 3 / 4, worker: 15 / 16, admin: 1 } as const satisfies Record<KeyKind, number>;

/** The same of requests of workers that wait: what is between is for their results, which a worker drops if it is refused. */
const shareUpToWaiting = 7 / 8;

/** So many connections may be without a key before idle ones with a key are kept in preference: each needs time to show one. */
const shareOfUnknown = 1 / 16;

/**
 * A connection belongs to the network it comes from until a request on it shows a key, and to the key from then on. An
 * address has no bound of its own: all workers of a studio share one, and all clients of a proxy.
 */
export class Connections {
  readonly #max: number;
  readonly #open = new Map<string, Connection>();
  /** The same by the sockets of requests, which are others than those of connections if TLS is used. */
  readonly #found = new WeakMap<Socket, Connection>();
  readonly #owners = new Map<string, Owner>();
  readonly #inProgress: Record<KeyKind, number> = { client: 0, worker: 0, admin: 0 };
  #unknown = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Notes a new connection, and closes one if there are more than `max`. */
  add(socket: Socket): void {
    const owner = this.#owner(networkOf(socket.remoteAddress ?? ''), false);
    const connection: Connection = { socket, name: nameOf(socket), owner, busy: undefined, isOpen: true };
    this.#open.set(connection.name, connection);
    this.#give(connection, owner);
    socket.once('close', () => this.#remove(connection));
    if (this.#open.size > this.#max) this.#closeOne(connection);
  }

  /**
   * Notes that a request came with this key, until `end`. Returns the refusal if as many requests are in progress as
   * the key, or its kind, may have. `isLong`: the request may wait, or take time to be sent or read.
   */
  take(
    { socket }: Pick<IncomingMessage, 'socket'>,
    key: Pick<KeyHolder, 'id' | 'name' | 'kind' | 'endpoints' | 'limits'>,
    isLong: boolean,
  ): HttpResponse | undefined {
    const connection = this.#find(socket);
    if (connection === undefined) return undefined;
    this.#release(connection);
    const { kind } = key;
    // Workers of the service share a name, and those of one endpoint are not to stop those of another.
    const owner = this.#owner([key.id, ...(key.endpoints ?? [])].join(' '), true);
    this.#give(connection, owner);
    const most = Math.min(this.#part(shareOfKey[kind]), key.limits.maxHeld ?? Infinity);
    if (isLong && owner.inProgress >= most) return tooMany(ofKeyText(key.name, most), waitMs);
    const mostOfAll = this.#part(shareOfKey[kind] + shareOfShort[kind]);
    if (owner.inProgress >= mostOfAll) return tooMany(ofKeyText(key.name, mostOfAll), waitMs);
    const { client, worker, admin } = this.#inProgress;
    const upTo = { client, worker: client + worker, admin: client + worker + admin }[kind];
    const share = kind === 'worker' && isLong ? shareUpToWaiting : shareUpTo[kind];
    if (upTo >= this.#part(share)) return tooMany(crowdedText, waitMs);
    connection.busy = kind;
    owner.inProgress += 1;
    this.#inProgress[kind] += 1;
    return undefined;
  }

  /** The request of a connection was answered. */
  end({ socket }: Pick<IncomingMessage, 'socket'>): void {
    const connection = this.#find(socket);
    if (connection !== undefined) this.#release(connection);
  }

  /** Another process found out that a request has no key that is good here. */
  distrust({ socket }: Pick<IncomingMessage, 'socket'>): void {
    const connection = this.#find(socket);
    if (connection === undefined) return;
    this.#release(connection);
    this.#give(connection, this.#owner(networkOf(socket.remoteAddress ?? ''), false));
  }

  #find(socket: Socket): Connection | undefined {
    const known = this.#found.get(socket);
    if (known !== undefined) return known.isOpen ? known : undefined;
    const connection = this.#open.get(nameOf(socket));
    if (connection !== undefined) this.#found.set(socket, connection);
    return connection;
  }

  #part(share: number): number {
    return Math.max(1, Math.floor(this.#max * share));
  }

  #owner(name: string, isKey: boolean): Owner {
    const id = `${isKey ? 'key' : 'network'} ${name}`;
    const known = this.#owners.get(id);
    if (known !== undefined) return known;
    const owner = { name: id, isKey, connections: new Set<Connection>(), inProgress: 0 };
    this.#owners.set(id, owner);
    return owner;
  }

  #give(connection: Connection, owner: Owner): void {
    this.#takeFrom(connection);
    connection.owner = owner;
    owner.connections.add(connection);
    if (!owner.isKey) this.#unknown += 1;
    this.#owners.set(owner.name, owner);
  }

  #takeFrom(connection: Connection): void {
    const { owner } = connection;
    if (!owner.connections.delete(connection)) return;
    if (!owner.isKey) this.#unknown -= 1;
    if (owner.connections.size === 0) this.#owners.delete(owner.name);
  }

  #release(connection: Connection): void {
    if (connection.busy === undefined) return;
    this.#inProgress[connection.busy] -= 1;
    connection.owner.inProgress -= 1;
    connection.busy = undefined;
  }

  #remove(connection: Connection): void {
    connection.isOpen = false;
    if (this.#open.get(connection.name) === connection) this.#open.delete(connection.name);
    this.#release(connection);
    this.#takeFrom(connection);
  }

  /** One without a key goes first, and among idle ones that of whoever has most. Where all are busy, the new one goes. */
  #closeOne(newest: Connection): void {
    const unknown = this.#unknown > this.#part(shareOfUnknown) ? this.#spare(false) : undefined;
    const closed = unknown ?? this.#spare(true) ?? this.#spare(false) ?? newest;
    this.#remove(closed);
    closed.socket.destroy();
  }

  /** The connection that was idle for longest, of the key or network that has most; undefined if there is none. */
  #spare(isKey: boolean): Connection | undefined {
    const owners = [...this.#owners.values()].filter((owner) => owner.isKey === isKey);
    owners.sort((one, other) => other.connections.size - one.connections.size);
    for (const { connections } of owners)
      for (const connection of connections) if (connection.busy === undefined) return connection;
    return undefined;
  }
}

/** A server and the one for workers of this machine may have a connection from the same port. */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

const waitMs = 1_000;

function ofKeyText(name: string, most: number): string {
  return `the key ${name} has ${most} requests in progress, the most that it may have; wait for answers`;
}

const crowdedText =
  'too many requests are in progress at once; what is left is for workers and administrators';
