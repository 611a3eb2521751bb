import type { FunctionComponent } from 'preact'
import type { Route } from './lib/route.ts'

export interface ViewProps {
  route: Route
}

/** A view's module has the view as its default export. It renders a {@link Heading} first. */
export interface ViewModule {
  default: FunctionComponent<ViewProps>
}
