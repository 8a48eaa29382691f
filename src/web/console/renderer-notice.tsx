/** What is said of a scene-renderer that paints. */
import type { JSX } from 'preact';
import { Copyable } from './copyable.tsx';
import { useService } from './service.ts';

/** Nothing where it renders. */
export function RendererNotice(): JSX.Element | null {
  const { rendererLack: lack } = useService().overview;
  if (lack === null) return null;
  return (
    <div class="notice wait stack">
      <p>
        <strong>Painting in 2D:</strong> {lack.reason}. Each output says so.
      </p>
      {lack.install !== null && (
        <>
          <Copyable label="Install what is missing" text={lack.install} />
          <p>Then start the service again.</p>
        </>
      )}
    </div>
  );
}
