// Reads the lines of an export in Ion from standard input; writes each as JSON: the name of a member → type and text.
import { readFileSync } from 'node:fs'
import ion from 'ion-js'

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const { Item: item } = Object.fromEntries(ion.load(line).fields())
  const told = {}
  for (const [name, value] of item.fields()) {
    const marks = value.getAnnotations()
    told[name] = [...marks, value.getType().name, value.getType().name === 'blob'
      ? Buffer.from(value.uInt8ArrayValue()).toString('base64') : String(value)]
  }
  console.log(JSON.stringify(told))
}
