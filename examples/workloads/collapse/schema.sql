-- Tables of the workloads beside this file: `mariadb collapse < schema.sql`, into an empty database.
-- 100,000 customers and rows, 200 items, 1,000 hot rows; about 60 MB.

CREATE TABLE customer (id INT PRIMARY KEY, name CHAR(40) NOT NULL) ENGINE=InnoDB;
INSERT INTO customer SELECT seq, CONCAT('customer ', seq) FROM seq_1_to_100000;

CREATE TABLE item (id INT PRIMARY KEY, stock BIGINT NOT NULL) ENGINE=InnoDB;
INSERT INTO item SELECT seq, 1000000000 FROM seq_1_to_200;

CREATE TABLE sale (
  id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, item INT NOT NULL, sold TIMESTAMP NOT NULL
) ENGINE=InnoDB;

CREATE TABLE hot (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB;
INSERT INTO hot SELECT seq, 0 FROM seq_1_to_1000;

CREATE TABLE entry (
  id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY (k)
) ENGINE=InnoDB;
INSERT INTO entry
  SELECT seq, 1 + CRC32(seq) MOD 100000, REPEAT(MD5(seq), 3), MD5(seq + 7) FROM seq_1_to_100000;
