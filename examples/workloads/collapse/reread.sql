-- Table of reread.toml: `mariadb collapse < reread.sql`. 20,000 rows of 2 KB, seven on a page; about 50 MB.

CREATE TABLE leaf (
  id INT PRIMARY KEY, k INT NOT NULL, body VARCHAR(2000) CHARACTER SET latin1 NOT NULL
) ENGINE=InnoDB;
INSERT INTO leaf SELECT seq, CRC32(seq) MOD 1000, REPEAT('evenkeel', 250) FROM seq_1_to_20000;
