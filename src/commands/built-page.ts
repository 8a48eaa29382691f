/** A page of the program as it is sent. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageShell, type Page } from '../lib/net/page-shell.ts';

/** Of the files that the build made; `withoutScript` is HTML, for those who have no JavaScript. */
export function builtPage(name: 'console' | 'watch', withoutScript: string): Page {
  const [script = '', style = ''] = ['js', 'css'].map((end) =>
    readFileSync(join(import.meta.dirname, '..', 'web', `${name}.${end}`), 'utf8'),
  );
  return pageShell({ script, style, withoutScript });
}
