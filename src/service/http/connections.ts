/** Limits connections and concurrent requests of networks and keys, and closes a connection if there are too many. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { addressGroup } from '../../lib/net/addresses.ts';
import type { KeyHolder, KeyKind } from '../model/key.ts';
import { type HttpResponse, tooMany } from '../../lib/http/http-response.ts';

interface Connection {
  socket: Socket;
  /** Name by `nameOf`. It is stored, because a closed socket has no local address. */
  name: string;
  owner: Owner;
  /** Kind of the key whose request is in progress; undefined if no request with a key is in progress. */
  busy: KeyKind | undefined;
  isOpen: boolean;
}

/** Owner of connections: a key, or a network whose connections have shown no key. */
interface Owner {
  name: string;
  isKey: boolean;
  /** Connections of the owner; the most recently used one is last. */
  connections: Set<Connection>;
  inProgress: number;
}

/** Maximum share of all connections on which one key may have requests in progress. */
const shareOfKey = { client: 1 / 2, worker: 3 / 4, admin: 3 / 4 } as const satisfies Record<KeyKind, number>;

/** Additional share of a key for results and requests that are answered at once. */
const shareOfShort = { client: 1 / 8, worker: 1 / 16, admin: 1 / 8 } as const satisfies Record<
  KeyKind,
  number
>;

/** Maximum share of all keys of a kind and earlier kinds together. The rest is reserved for later kinds. */
const shareUpTo = { client: 3 / 4, worker: 15 / 16, admin: 1 } as const satisfies Record<KeyKind, number>;

/** Like `shareUpTo.worker`, for requests that wait. The difference is reserved for results, which workers drop if refused. */
const shareUpToWaiting = 7 / 8;

/** Share of connections that may have no key yet, since showing one takes time. Beyond it, they are closed first. */
const shareOfUnknown = 1 / 16;

/** Tracks all connections, by key once shown. Networks have no limit: a studio may share one address. */
export class Connections {
  readonly #max: number;
  readonly #open = new Map<string, Connection>();
  /** Connections by the sockets of requests. With TLS, these differ from the sockets of connections. */
  readonly #found = new WeakMap<Socket, Connection>();
  readonly #owners = new Map<string, Owner>();
  readonly #inProgress: Record<KeyKind, number> = { client: 0, worker: 0, admin: 0 };
  #unknown = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Adds a new connection. Closes one if there are more than `max`. */
  add(socket: Socket): void {
    const owner = this.#owner(networkOf(socket.remoteAddress ?? ''), false);
    const connection: Connection = { socket, name: nameOf(socket), owner, busy: undefined, isOpen: true };
    this.#open.set(connection.name, connection);
    this.#give(connection, owner);
    socket.once('close', () => this.#remove(connection));
    if (this.#open.size > this.#max) this.#closeOne(connection);
  }

  /** Counts a request of this key until `end`, or refuses it. `isLong`: it may wait, send or receive for long. */
  take(
    { socket }: Pick<IncomingMessage, 'socket'>,
    key: Pick<KeyHolder, 'id' | 'name' | 'kind' | 'endpoints' | 'limits'>,
    isLong: boolean,
  ): HttpResponse | undefined {
    const connection = this.#find(socket);
    if (connection === undefined) return undefined;
    this.#release(connection);
    const { kind } = key;
    // The service's own workers share a key id. With the endpoints, each endpoint's workers have their own limit.
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

  /** Called after a request was answered. */
  end({ socket }: Pick<IncomingMessage, 'socket'>): void {
    const connection = this.#find(socket);
    if (connection !== undefined) this.#release(connection);
  }

  /** Returns a connection to its network, because another process found that its key is invalid. */
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

  /** Closes an idle connection: one without a key above a share of 1/16, else one with a key, else the newest. */
  #closeOne(newest: Connection): void {
    const unknown = this.#unknown > this.#part(shareOfUnknown) ? this.#spare(false) : undefined;
    const closed = unknown ?? this.#spare(true) ?? this.#spare(false) ?? newest;
    this.#remove(closed);
    closed.socket.destroy();
  }

  /** Returns the idle connection that was unused for longest, of the owner with the most connections; undefined if none. */
  #spare(isKey: boolean): Connection | undefined {
    const owners = [...this.#owners.values()].filter((owner) => owner.isKey === isKey);
    owners.sort((one, other) => other.connections.size - one.connections.size);
    for (const { connections } of owners)
      for (const connection of connections) if (connection.busy === undefined) return connection;
    return undefined;
  }
}

/** Returns a unique name of a connection. Both addresses are needed, as the service may listen on two ports. */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

const waitMs = 1_000;

function ofKeyText(name: string, most: number): string {
  return `the key ${name} has ${most} requests in progress, its maximum; wait for answers`;
}

const crowdedText =
  'too many requests are in progress at once; the rest is reserved for workers and administrators';

/** Returns the network of an address: the /24 of IPv4, the /64 of IPv6, and any other text unchanged. */
function networkOf(text: string): string {
  return addressGroup(text).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24');
}
