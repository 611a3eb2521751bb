import { Component, type ComponentChildren } from 'preact'
import { Failure } from '../lib/api.ts'
import { Failed } from './states.tsx'

/** Keeps a view that fails from taking the page with it. */
export class Boundary extends Component<{ children: ComponentChildren }, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static override getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true }
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children
    const failure = new Failure('broken', 'This view could not be shown.')
    return <Failed failure={failure} retry={() => this.setState({ hasFailed: false })} action="Try again" />
  }
}
