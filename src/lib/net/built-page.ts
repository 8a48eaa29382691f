/** Builds an HTML page, and the headers that restrict what a browser may do with it. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageFile } from '../files/package-file.ts';
import type { HttpResponse } from '../http/http-response.ts';

export interface Page {
  html: string;
  /** Headers of every response. */
  headers: Record<string, string>;
}

/**
 * Makes a page of the built script and style. `withoutScript` is HTML for browsers without JavaScript. Only
 * the page's own script and style may run, and nothing is loaded from elsewhere.
 */
export function builtPage(name: 'console' | 'gallery', withoutScript: string): Page {
  const script = readFileSync(packageFile(`dist/web/${name}.js`), 'utf8');
  const style = readFileSync(packageFile(`dist/web/${name}.css`), 'utf8');
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>nightrender</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>${withoutScript}</noscript>
<script>${script}</script>
</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    html,
    headers: {
      'Content-Security-Policy': policy.join('; '),
      'X-Content-Type-Options': 'nosniff',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
    },
  };
}

export function pageResponse({ html, headers }: Page): HttpResponse {
  return { status: 200, body: html, headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' } };
}

function digestOf(text: string): string {
  return `sha256-${hash('sha256', text, 'base64')}`;
}
