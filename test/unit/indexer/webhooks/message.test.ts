import t from 'tap'
import { isWanted, messageOfEvent } from '../../../../indexer/webhooks/message.ts'
import type { Webhook } from '../../../../shared/config/webhooks.ts'
import type { RecordEvent } from '../../../../shared/events/record-event.ts'

const EVENT: RecordEvent = {
  ...{ id: '41.2', position: 42, event: 'changed' },
  record: { id: 42_000_001, event: 'CreateLoanOffer', loanType: 'ERC20FIL', network: 'evm:1' },
}

void t.test('a change is wanted if it fits each filter that is there', (t) => {
  const webhook = (filters: Partial<Webhook>): Webhook => ({
    ...{ name: 'one', url: 'https://back.example', secret: 'whsec_', from: 'now' },
    ...filters,
  })
  const cases: [Partial<Webhook>, boolean][] = [
    [{}, true],
    [{ events: ['CreateLoanOffer'], loanTypes: ['ERC20FIL'], networks: ['evm:1'] }, true],
    [{ events: ['CloseLoan', 'CreateLoanOffer'] }, true],
    [{ events: ['CloseLoan'] }, false],
    [{ loanTypes: ['FILERC20'] }, false],
    [{ networks: ['evm:10', 'filecoin:mainnet'] }, false],
    [{ events: ['CreateLoanOffer'], networks: ['filecoin:mainnet'] }, false],
  ]
  for (const [filters, wanted] of cases)
    t.equal(isWanted(webhook(filters), EVENT), wanted, JSON.stringify(filters))
  t.end()
})

void t.test('an id has no full stop, which divides the signed text', (t) => {
  const { id, body } = messageOfEvent(EVENT, new Date(1_000))
  t.equal(id, '41-2')
  t.same(JSON.parse(body), {
    ...{ type: 'record.changed', timestamp: '1970-01-01T00:00:01.000Z' },
    data: { ...EVENT.record, position: 42 },
  })
  t.end()
})
