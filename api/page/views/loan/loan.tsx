import { Heading } from '../../components/heading.tsx'
import { Empty } from '../../components/states.tsx'
import type { ViewProps } from '../../view.ts'

export default function LoanView(_props: ViewProps) {
  return (
    <>
      <Heading title="Loan" />
      <Empty title="This view is being built" />
    </>
  )
}
