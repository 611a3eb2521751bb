import t from 'tap'
import { ChainRules } from '../../../../../indexer/sources/evm/proof/chain-rules.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'

const BLOCK = { number: 7, hash: '0xaa' }

void t.test('a rule that held once holds for good', (t) => {
  const heard: string[] = []
  const rules = new ChainRules((rule, follows) => heard.push(`${rule} ${follows}`))
  t.notOk(rules.judge('receipts', false, BLOCK), 'not known yet: nothing is proven')
  t.notOk(rules.judge('receipts', false, BLOCK))
  t.notOk(rules.judge('headers', false, BLOCK))
  t.same(rules.known, {})
  t.ok(rules.judge('receipts', true, BLOCK))
  t.ok(rules.judge('receipts', true, BLOCK))
  t.throws(() => rules.judge('receipts', false, BLOCK), BadAnswer)
  t.notOk(rules.judge('transactions', false, BLOCK), 'each rule is known by itself')
  t.same(rules.known, { receipts: true })
  t.same(heard, ['receipts false', 'receipts true', 'transactions false'], 'each is told once')
  t.end()
})

void t.test('what was known before a restart is not lowered, and an operator may give a rule up', (t) => {
  const rules = new ChainRules()
  rules.believe({ headers: true, receipts: false })
  t.throws(() => rules.judge('headers', false, BLOCK), BadAnswer)
  t.notOk(rules.judge('receipts', false, BLOCK))
  t.ok(rules.judge('receipts', true, BLOCK), 'a root that fits is a proof all the same')
  t.notOk(rules.judge('receipts', false, BLOCK))
  t.same(rules.known, { headers: true, receipts: false })
  t.end()
})

void t.test('headers that follow from a fork on are held to the rule from there on', (t) => {
  const at = (number: number) => ({ number, hash: '0xaa' })
  const rules = new ChainRules(undefined, 100)
  rules.judge('headers', true, at(900))
  t.same(rules.known, { headers: 900 })
  t.notOk(rules.judge('headers', false, at(100)), 'before the fork nothing is proven')
  rules.judge('headers', true, at(500))
  t.same(rules.known, { headers: 500 }, 'an older block that follows extends the rule')
  t.throws(() => rules.judge('headers', false, at(500)), BadAnswer)
  t.throws(() => rules.judge('headers', false, at(901)), BadAnswer)
  t.notOk(rules.judge('headers', false, at(499)))
  rules.judge('headers', true, at(100))
  t.same(rules.known, { headers: true }, 'from the first block that is read')
  t.throws(() => rules.judge('headers', false, at(100)), BadAnswer)
  t.end()
})
