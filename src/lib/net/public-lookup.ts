/** Finding the public addresses of a name, at the moment at which it is connected to. */
import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from './public-address.ts';

/** The names and addresses beyond this machine; a test puts its own in their place. */
export interface Internet {
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  isPublic: (address: string) => boolean;
}

export const theInternet: Internet = {
  lookup: (hostname) => systemLookup(hostname, { all: true }),
  isPublic: isPublicAddress,
};

/** A name that has no public address. */
export class NoPublicAddress extends Error {}

/** What is looked up here is what is connected to: nobody can answer another address in between. */
export function publicLookup({ lookup, isPublic }: Internet = theInternet): LookupFunction {
  const find = callbackify(async (hostname: string): Promise<LookupAddress[]> => {
    const found = (await lookup(hostname)).filter(({ address }) => isPublic(address));
    if (found.length === 0) throw new NoPublicAddress(`${hostname} is no host of the public internet`);
    return found;
  });
  return (hostname, { all }, callback) =>
    find(hostname, (error, found) => {
      if (error !== null) callback(error, all ? [] : '');
      else if (all) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    });
}
