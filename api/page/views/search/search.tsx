import { Heading } from '../../components/heading.tsx'
import { Empty } from '../../components/states.tsx'
import type { ViewProps } from '../../view.ts'

export default function SearchView(_props: ViewProps) {
  return (
    <>
      <Heading title="Search" />
      <Empty title="This view is being built" />
    </>
  )
}
