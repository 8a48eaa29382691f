/** What failed, by kind: the first scenes of it, what was said, and what renders them again. */
import type { JSX } from 'preact';
import type { GalleryFailure } from '../../runner/core/gallery-data.ts';
import { useLoaded } from '../shared/hooks.ts';
import { counted } from '../shared/number-words.ts';
import { Copyable, LongText } from '../shared/text.tsx';
import { ScenePictures, type Scene, type ViewProps } from './pictures-view.tsx';
import { everything } from './query.ts';
import { SceneDialog } from './scene-dialog.tsx';
import { those } from './use-selection.ts';

export function FailuresView(props: ViewProps): JSX.Element {
  const { data, rows, place, go, marking } = props;
  return (
    <section aria-label="Failures" class="stack wide">
      {data.failures.length === 0 && <p class="soft">Nothing failed.</p>}
      {data.failures.map((failure) => (
        <Kind key={failure.kind} {...props} failure={failure} />
      ))}
      {place.open !== undefined && (
        <SceneDialog
          rows={rows}
          columns={data.columns}
          marking={marking}
          order={those(data.failures.flatMap(({ first }) => first))}
          open={place.open}
          onOpen={(index, row) => go({ open: { number: index + 1, id: row.id ?? '' } })}
          onClose={() => go({ open: undefined })}
        />
      )}
    </section>
  );
}

function Kind({ failure, rows, go, marking }: ViewProps & { failure: GalleryFailure }): JSX.Element {
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
      <ScenePictures
        shown={shown ?? []}
        marking={marking}
        onOpen={({ index, row }) => go({ open: { number: index + 1, id: row.id ?? '' } })}
      />
      <LongText label={`A failure, ${kind}`} text={text} isBad />
      {command !== null && <Copyable label="Command that retries them" text={command} />}
    </article>
  );
}
