/** `index.html`: one file with its style, its code and its numbers in it, that runs nothing else. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { packageFile } from '../../lib/files/package-file.ts';
import type { GalleryData } from '../core/gallery-data.ts';

/** Rows are loaded by code of the page alone (`strict-dynamic`); what stands in them never becomes code or style. */
export async function galleryPage(data: GalleryData): Promise<string> {
  const code = await built('gallery.js');
  const style = await built('gallery.css');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(code)}' 'strict-dynamic'`,
    `style-src '${hashOf(style)}'`,
    `img-src ${["'self'", 'file:', data.picturesAt ?? []].flat().join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="nightrender-rows" content="${data.chunks.folder}">${data.isSigned ? `\n${signedMark}` : ''}
<title>${htmlText(data.title)} · nightrender</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript><p>This page needs JavaScript. All of its rows are in results.csv and results.jsonl in the same folder.</p></noscript>
<script type="application/json" id="data">${scriptJson(data)}</script>
<script>${code}</script>
</body>
</html>
`;
}

/** Of a page whose links to pictures are credentials. */
const signedMark = '<meta name="nightrender-links" content="signed">';

/** The name of the folder that a page loads its rows from. */
export function rowsFolderIn(page: string): string | undefined {
  return /<meta name="nightrender-rows" content="gallery\/([\w-]+)">/.exec(page)?.[1];
}

/** JSON that may stand within a script: nothing in it ends the script or begins a comment. */
export function scriptJson(value: object): string {
  return JSON.stringify(value).replaceAll(/[<\u2028\u2029]/g, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** The browser normalizes CRLF before it checks the hash. */
async function built(name: string): Promise<string> {
  const text = await readFile(packageFile(`dist/web/${name}`), 'utf8');
  return text.replaceAll('\r\n', '\n').trim();
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
