/** Where the built program and the built chaos are, told from here: `test/chaos` or `dist/chaos/test/chaos`. */
import { resolve } from 'node:path';

const isBuilt = import.meta.filename.endsWith('.js');

export const builtFolder = resolve(import.meta.dirname, isBuilt ? '../../..' : '../../dist');
