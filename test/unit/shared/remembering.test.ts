import fc from 'fast-check'
import t from 'tap'
import { remembering } from '../../../shared/remembering.ts'

void t.test('what is remembered is what would be made', (t) => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'toString', '__proto__', ''), { maxLength: 60 })
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 5 }), (asked, most) => {
      const made: string[] = []
      const shout = remembering(most, (text) => {
        made.push(text)
        return text === 'b' ? null : `${text}!`
      })
      const isRight = asked.every((text) => shout(text) === (text === 'b' ? null : `${text}!`))
      // As many texts as fit are made once each.
      return isRight && (new Set(asked).size > most || made.length === new Set(asked).size)
    }),
  )
  t.end()
})

void t.test('ever new texts are not all kept', (t) => {
  let made = 0
  const counted = remembering(10, (text) => {
    made += 1
    return text
  })
  const texts = Array.from({ length: 1_000 }, (_, index) => String(index))
  texts.forEach(counted)
  made = 0
  texts.toReversed().forEach(counted)
  t.ok(made >= 990, `${1_000 - made} of a thousand were kept`)
  t.end()
})

void t.test('a long text is not kept', (t) => {
  const asked: number[] = []
  const lengthOf = remembering(10, (text) => {
    asked.push(text.length)
    return text.length
  })
  for (const length of [512, 512, 513, 513]) t.equal(lengthOf('x'.repeat(length)), length)
  t.same(asked, [512, 513, 513])
  t.end()
})

void t.test('what could not be made is made again', (t) => {
  let tries = 0
  const flaky = remembering(10, (text) => {
    tries += 1
    if (tries === 1) throw new Error('not now')
    return text
  })
  t.throws(() => flaky('a'), /not now/)
  t.equal(flaky('a'), 'a')
  t.end()
})
