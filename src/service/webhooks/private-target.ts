/** Whether a webhook leads to this machine or its network: whoever may submit would reach there what only the service can. */
import { isIP } from 'node:net';
import { isPublicAddress } from '../../lib/net/addresses.ts';

/** As far as the URL itself tells: what a name stands for shows when it is connected to. */
export function isPrivateTarget(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return /(^|\.)localhost$/.test(host);
}
