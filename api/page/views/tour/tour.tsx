import { Heading } from '../../components/heading.tsx'
import { Empty } from '../../components/states.tsx'
import type { ViewProps } from '../../view.ts'

export default function TourView(_props: ViewProps) {
  return (
    <>
      <Heading title="Tour" />
      <Empty title="This view is being built" />
    </>
  )
}
