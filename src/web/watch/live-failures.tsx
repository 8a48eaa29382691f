/** What failed, by kind, and how to have it rendered again. */
import type { JSX } from 'preact';
import type { LiveFailure } from '../../runner/core/live-batch.ts';
import { counted } from '../shared/number-words.ts';

export function LiveFailures({ failures }: { failures: LiveFailure[] }): JSX.Element {
  return (
    <section aria-labelledby="failures">
      <div class="head">
        <h2 id="failures">Failures</h2>
      </div>
      {failures.length === 0 ? (
        <p class="soft">None so far.</p>
      ) : (
        <ul class="failures">
          {failures.map((failure) => (
            <OneKind key={failure.kind} {...failure} />
          ))}
        </ul>
      )}
    </section>
  );
}

function OneKind({ kind, means, attempts, scenes, lastText, retry }: LiveFailure): JSX.Element {
  return (
    <li>
      <h3>
        <code>{kind}</code>{' '}
        <span class={scenes > 0 ? 'count bad' : 'count'}>
          {scenes > 0 ? `${counted(scenes, 'scene')} failed` : 'tried again'}
          {attempts > 0 && `, ${counted(attempts, 'attempt')}`}
        </span>
      </h3>
      {means !== '' && <p class="soft">{means}</p>}
      {lastText !== '' && (
        <p class="last">
          <span class="soft">Last: </span>
          <bdi>{lastText}</bdi>
        </p>
      )}
      {retry !== null && <code class="command">{retry}</code>}
    </li>
  );
}
