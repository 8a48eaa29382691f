/** The health check of the image: whether the service in this container answers. A batch is as well as its process. */
import { readFileSync } from 'node:fs';

if (!readFileSync('/proc/1/cmdline', 'latin1').split('\0').includes('serve')) process.exit(0);
// A certificate is for the name that clients use.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');
const asked = ['http', 'https'].map((scheme) => fetch(`${scheme}://127.0.0.1:4747/openapi.json`));
const isServing = await Promise.any(asked).then(
  ({ ok }) => ok,
  () => false,
);
process.exit(isServing ? 0 : 1);
