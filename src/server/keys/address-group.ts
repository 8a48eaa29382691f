/** Whom an address stands for: one of IPv4 for itself, those of IPv6 for all that a household or a machine is given. */
import { isIPv6 } from 'node:net';

/** The first 64 bits of an IPv6 address; as `remoteAddress` has it. */
export function addressGroup(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  const [before = '', after] = address.toLowerCase().split('::');
  const [head, tail] = [before, after ?? ''].map((part) => part.split(':').filter(Boolean)) as [
    string[],
    string[],
  ];
  const zeros = after === undefined ? 0 : 8 - head.length - tail.length;
  const groups = [...head, ...Array<string>(Math.max(0, zeros)).fill('0'), ...tail];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
