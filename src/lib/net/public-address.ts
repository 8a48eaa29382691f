/** Which addresses are the public internet's, and which are this machine's, its network's, or nobody's. */
import ipaddr from 'ipaddr.js';

/** False also for what is no IP address. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  // An IPv4 address within an IPv6 one becomes the IPv4 address.
  const address = ipaddr.process(text);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(globalUnicast));
}

/** All of IPv6 that is given out; beside it, whatever nobody has named a purpose for counts as `unicast`. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');
