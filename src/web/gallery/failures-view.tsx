/** What failed, by kind: the first scenes of it, what was said, and what renders them again. */
import type { JSX } from 'preact';
import type { GalleryFailure } from '../../runner/core/gallery-data.ts';
import { useLoaded } from '../shared/hooks.ts';
import { counted } from '../shared/number-words.ts';
import { Copyable, LongText } from '../shared/text.tsx';
import { ScenePictures, type Scene } from './pictures-view.tsx';
import type { ViewProps } from './scene-dialog.tsx';
import { everything } from './query.ts';
import { OpenScene } from './scene-dialog.tsx';
import { those } from './use-selection.ts';

export function FailuresView(props: ViewProps): JSX.Element {
  const { failures } = props.data;
  return (
    <section aria-label="Failures" class="stack wide">
      {failures.length === 0 && <p class="soft">Nothing failed.</p>}
      {failures.map((failure) => (
        <Kind key={failure.kind} {...props} failure={failure} />
      ))}
      <OpenScene {...props} order={those(failures.flatMap(({ first }) => first))} />
    </section>
  );
}

function Kind({ failure, ...view }: ViewProps & { failure: GalleryFailure }): JSX.Element {
  const { rows, go } = view;
  const { kind, means, scenes, text, first, command } = failure;
  const shown = useLoaded<Scene[]>([rows, failure], async () => {
    const all = await Promise.all(first.map(async (index) => ({ index, row: await rows.at(index) })));
    return all.flatMap(({ index, row }) => (row === undefined ? [] : [{ index, row }]));
  });
  return (
    <article class="card stack">
      <div class="row">
        <h2>
          {kind} <small>{counted(scenes, 'scene')}</small>
        </h2>
        <button
          type="button"
          onClick={() => go({ view: 'pictures', query: { ...everything, kind }, page: 1 })}
        >
          Show {scenes === 1 ? 'it' : 'them'}
        </button>
      </div>
      <p class="soft">{means}</p>
      <ScenePictures {...view} shown={shown ?? []} />
      <LongText label={`A failure, ${kind}`} text={text} isBad />
      {command !== null && <Copyable label="Command that retries them" text={command} />}
    </article>
  );
}
