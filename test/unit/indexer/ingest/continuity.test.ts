import t from 'tap'
import { continuityOfBlocks, continuityOfReorg } from '../../../../indexer/ingest/continuity.evolve.ts'
import type { BlocksStep, ReorgStep } from '../../../../shared/events/chain-step.ts'

const block = (number: number, hash: string): { number: number; hash: string } => ({ number, hash })
const to = { number: 12, hash: '0xnew', parentHash: '0x', timeS: 1 }
const reorgAfter = (ancestor: number): ReorgStep => ({
  type: 'reorg',
  ancestor: block(ancestor, '0xancestor'),
  replaces: block(11, '0xold'),
  to,
  headers: [],
  events: [],
  evidence: [],
})

void t.test('a reorg may replace the first block that was read, while nothing is final', (t) => {
  const position = { block: block(11, '0xold'), startNumber: 10 }
  t.equal(continuityOfReorg({ ...position, finalized: null }, undefined, reorgAfter(9)), 'apply')
  t.equal(continuityOfReorg({ ...position, finalized: block(10, '0x') }, undefined, reorgAfter(9)), 'broken')
  t.equal(
    continuityOfReorg({ ...position, finalized: null }, undefined, reorgAfter(8)),
    'broken',
    'that was never read',
  )
  t.equal(continuityOfReorg({ ...position, finalized: null }, '0xancestor', reorgAfter(10)), 'apply')
  t.equal(continuityOfReorg({ ...position, finalized: null }, '0xother', reorgAfter(10)), 'broken')
  t.end()
})

void t.test('blocks that end below the position were written before, if they are on our branch', (t) => {
  const position = { block: block(12, '0xours'), startNumber: 10 }
  const step: BlocksStep = {
    ...{ type: 'blocks', from: 11, after: block(10, '0x'), to },
    headers: [],
    events: [],
    evidence: [],
  }
  t.equal(continuityOfBlocks(position, to.hash, step), 'seen')
  t.equal(continuityOfBlocks(position, '0xours', step), 'broken', 'another branch as long as ours')
  t.equal(continuityOfBlocks(position, undefined, step), 'seen', 'final blocks have no headers here')
  t.end()
})
