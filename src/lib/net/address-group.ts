/** Whom an address stands for: one of IPv4 for itself, those of IPv6 for all that a household or a machine is given. */
import ipaddr from 'ipaddr.js';

/** The first 64 bits of an IPv6 address, as `2001:db8:1:2::/64`; what is no address stays what it is. */
export function addressGroup(text: string): string {
  if (!ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  if (!('parts' in address)) return address.toString();
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}
