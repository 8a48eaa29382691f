/** What a fault of a request is. */
import type { ServerResponse } from 'node:http';
import type { Chance } from './chance.ts';
import type { FaultPlace } from './fault-settings.ts';

export type RequestPlace = Exclude<FaultPlace, 'job'>;

/** An answer as it should have been. */
export interface HonestAnswer {
  status: number;
  headers?: Record<string, string | string[]>;
  /** JSON text. */
  body: string | Buffer;
}

export interface FaultyAnswering {
  response: ServerResponse;
  random: Chance;
  lateMs: number;
}

export interface RequestFault {
  /** One sentence, for people: what is met. */
  says: string;
  at: readonly RequestPlace[];
  /** Set where sending the same again is of no use: a client has to stop, or to do without. */
  isFinal?: true;
  /** Without anything being done of what was asked for. */
  instead?: (answering: FaultyAnswering) => void;
  /** After it was done. */
  after?: (answering: FaultyAnswering, honest: HonestAnswer) => void;
}

export type RequestFaults = Readonly<Record<string, RequestFault>>;

export const anywhere = ['submit', 'status', 'everything'] as const;
export const submissions = ['submit'] as const;
