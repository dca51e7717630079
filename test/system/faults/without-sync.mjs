// Disables the sync of commits, to check that the test detects it.
import { DatabaseSync } from 'node:sqlite'

const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (text) {
  return exec.call(this, text.replace('synchronous = FULL', 'synchronous = NORMAL'))
}
