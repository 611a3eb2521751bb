import type { FunctionComponent } from 'preact'
import { Boundary } from './components/boundary.tsx'
import { useEffect, useState } from 'preact/hooks'
import { Announcer } from './components/announcer.tsx'
import { Heading } from './components/heading.tsx'
import { News } from './components/news.tsx'
import { Empty, Failed, Loading } from './components/states.tsx'
import { Top } from './components/top.tsx'
import { Failure } from './lib/api.ts'
import { followStatus } from './lib/status.ts'
import type { Route } from './lib/route.ts'
import { route } from './router.ts'
import type { ViewModule, ViewProps } from './view.ts'
import { FirstLook } from './views/tour/first-look.tsx'

/** Each view is loaded when it is first shown, so that the first one does not wait for the charts of another. */
const VIEWS: Record<string, () => Promise<ViewModule>> = {
  '': () => import('./views/activity/activity.tsx'),
  search: () => import('./views/search/search.tsx'),
  orders: () => import('./views/orders/orders.tsx'),
  loan: () => import('./views/loan/loan.tsx'),
  account: () => import('./views/account/account.tsx'),
  status: () => import('./views/status/status.tsx'),
  tour: () => import('./views/tour/tour.tsx'),
}

export function App() {
  useEffect(() => {
    const stopped = new AbortController()
    void followStatus(stopped.signal)
    return () => stopped.abort()
  }, [])
  return (
    <>
      <Top />
      <News />
      <main id="main" tabIndex={-1}>
        {route.value.view === '' && <FirstLook />}
        <Boundary key={route.value.view}>
          <View route={route.value} />
        </Boundary>
      </main>
      <Announcer />
    </>
  )
}

function View({ route }: { route: Route }) {
  const { view } = route
  const [loaded, setLoaded] = useState<{ view: string; Component: FunctionComponent<ViewProps> }>()
  const [failed, setFailed] = useState<string>()
  const load = Object.hasOwn(VIEWS, view) ? VIEWS[view] : undefined
  useEffect(() => {
    let isWanted = true
    load?.().then(
      ({ default: Component }) => isWanted && setLoaded({ view, Component }),
      () => isWanted && setFailed(view),
    )
    return () => {
      isWanted = false
    }
  }, [view])
  if (load === undefined) return <Nowhere />
  if (loaded?.view === view) return <loaded.Component key={view} route={route} />
  if (failed !== view) return <Loading what="this view" />
  const failure = new Failure('away', 'A part of the page did not arrive.')
  // A browser remembers that a module failed, and the service may have a newer page by now.
  return <Failed failure={failure} retry={() => location.reload()} action="Load the page again" />
}

function Nowhere() {
  return (
    <>
      <Heading title="No such view" />
      <Empty title="This address leads nowhere">
        <p>
          Go to the <a href="#/">newest activity</a>, or search above.
        </p>
      </Empty>
    </>
  )
}
