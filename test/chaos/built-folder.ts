/** Where the built program and the built chaos are, told from here: `test/chaos` or `dist/chaos`. */
import { resolve } from 'node:path';

export const builtFolder = resolve(import.meta.dirname, '../../dist');
