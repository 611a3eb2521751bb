import { Heading } from '../../components/heading.tsx'
import { Empty } from '../../components/states.tsx'
import type { ViewProps } from '../../view.ts'

export default function OrdersView(_props: ViewProps) {
  return (
    <>
      <Heading title="Orders" />
      <Empty title="This view is being built" />
    </>
  )
}
