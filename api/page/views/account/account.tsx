import { Heading } from '../../components/heading.tsx'
import { Empty } from '../../components/states.tsx'
import type { ViewProps } from '../../view.ts'

export default function AccountView(_props: ViewProps) {
  return (
    <>
      <Heading title="Account" />
      <Empty title="This view is being built" />
    </>
  )
}
